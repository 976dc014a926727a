"""Copy a store to another engine and compare the contents of two stores."""
