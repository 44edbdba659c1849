"""The paper view: what it shows of an instance, and the page that shows it, for the report and the app."""
