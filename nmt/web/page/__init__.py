"""The files of the page: HTML, styles and ES modules. `server.js` answers its requests."""
