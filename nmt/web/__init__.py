"""The page that translates: HTML, styles and ES modules, for the server and for a static folder."""
