// Package version holds what the build says of itself.
package version

// Version is set by the linker; a build without that is somebody's own.
var Version = "development"
