"""One file per load mode; each decides, none touches a table."""
