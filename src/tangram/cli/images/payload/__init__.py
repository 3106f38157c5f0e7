"""`tangram images payload`: payload images of the operator, from folders."""
