"""Every source is read through one port."""
