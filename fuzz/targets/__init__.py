"""One module per reader of untrusted bytes. `fuzz.target.NAMES` lists them."""
