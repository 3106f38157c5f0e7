"""The catalogues, one module for each page, each with both languages (`tangram.web.language`)."""
