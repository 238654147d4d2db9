"""One suite per port: whoever passes it may stand behind the port."""
