"""Pages: small web servers and their static files."""
