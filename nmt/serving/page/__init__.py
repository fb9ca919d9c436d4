"""The files of the page that `nmt serve` shows: HTML, styles and ES modules."""
