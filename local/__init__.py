"""The machine-local stack: the function of lambda/ with stand-ins for what it uses of AWS. Never deployed."""
