"""The pages, one module each (`tangram.web.page` says what a page is)."""
