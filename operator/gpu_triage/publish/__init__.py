"""Where the words go; only the writer talks to the API."""
