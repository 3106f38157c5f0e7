module tangram.dev/runtime

go 1.24
