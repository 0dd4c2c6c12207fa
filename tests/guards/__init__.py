"""The product's promises, each with the change that breaks it and the test that then fails."""
