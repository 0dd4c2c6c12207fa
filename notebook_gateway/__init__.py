"""Front door: command line, version. The only package that knows all the others."""
