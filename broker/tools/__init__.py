"""One module per MCP tool: what it is called, what it takes and returns, and a handler that only orchestrates."""
