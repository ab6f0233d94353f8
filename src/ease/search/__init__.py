"""Search in the sentences of a project: index, entities of a text, reasons, command line and page."""
