"""Chrome DevTools Protocol client for Trio: a pure message core, the connection over it, a finder and a launcher."""
