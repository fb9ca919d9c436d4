"""The modules that stand in for a server, where the page is a static folder."""
