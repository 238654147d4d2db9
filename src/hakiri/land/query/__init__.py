"""Answer SQL over landed tables and views."""
