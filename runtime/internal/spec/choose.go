package spec

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

const (
	maca           = "maca"
	longestVersion = 63
)

// isVersion tells whether a text can be the end of a folder's name. No expression is compiled for it: every container
// of the node would wait for that.
func isVersion(text string) bool {
	if text == "" || len(text) > longestVersion || text[0] < '0' || text[0] > '9' {
		return false
	}
	return strings.IndexFunc(text, func(letter rune) bool {
		return !(letter >= '0' && letter <= '9' || letter >= 'A' && letter <= 'Z' || letter >= 'a' && letter <= 'z' ||
			strings.ContainsRune("._+-", letter))
	}) < 0
}

// Choose is what of the host's folders a container is to see, and the doubts on the way.
//
// A folder is left out rather than mounted where it could keep a container from starting that starts without it.
func Choose(config *Config, folders []string, bundle string) ([]Mount, []string) {
	var chosen []Mount
	var doubts []string
	for _, folder := range folders {
		mount, doubt := one(config, folder, bundle)
		if doubt != "" {
			doubts = append(doubts, doubt)
		}
		if mount != nil {
			chosen = append(chosen, *mount)
		}
	}
	return chosen, doubts
}

func one(config *Config, folder, bundle string) (*Mount, string) {
	if !strings.HasPrefix(folder, "/") || path.Clean(folder) != folder || folder == "/" {
		return nil, fmt.Sprintf("the folder %q of the settings is no plain absolute path, and is left out", folder)
	}
	wanted := folder
	if asked := config.Annotations[Annotation]; asked != "" && path.Base(folder) == maca {
		if asked == Image {
			return nil, ""
		}
		if !isVersion(asked) {
			return nil, fmt.Sprintf("the annotation %s is %q: it is %s or a version such as 2.23.0.4; %s is left out",
				Annotation, asked, Image, folder)
		}
		wanted = folder + "-" + asked
	}
	source, err := filepath.EvalSymlinks(wanted)
	if err != nil {
		// A node without MXMACA is a node without it; a pod that names a version expects one.
		if wanted == folder && os.IsNotExist(err) {
			return nil, ""
		}
		return nil, fmt.Sprintf("%s is not there (%v), and is left out", wanted, err)
	}
	if info, err := os.Stat(source); err != nil || !info.IsDir() {
		return nil, fmt.Sprintf("%s is no folder, and is left out", source)
	}
	before := -1
	for index, there := range config.Destinations {
		switch {
		case there.Path == folder:
			return nil, ""
		case there.Path != "/" && strings.HasPrefix(folder, there.Path+"/"):
			return nil, fmt.Sprintf("the container mounts %s itself, so %s is left out", there.Path, folder)
		case strings.HasPrefix(there.Path, folder+"/"):
			// Ours must come first, and the place for the other one cannot be made in a read-only folder.
			if _, err := os.Stat(source + strings.TrimPrefix(there.Path, folder)); err != nil {
				return nil, fmt.Sprintf("the container mounts %s, which %s does not have; it is left out",
					there.Path, source)
			}
			if before < 0 {
				before = index
			}
		}
	}
	if doubt := blocked(config, folder, bundle); doubt != "" {
		return nil, doubt
	}
	return &Mount{From: source, To: folder, Before: before}, ""
}

// blocked tells of something in the image that no folder can be mounted on.
func blocked(config *Config, folder, bundle string) string {
	root := config.Root
	if root == "" {
		return ""
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(bundle, root)
	}
	info, err := os.Lstat(filepath.Join(root, folder))
	if err == nil && !info.IsDir() && info.Mode()&os.ModeSymlink == 0 {
		return fmt.Sprintf("the image has a file %s, so the host's folder is left out", folder)
	}
	return ""
}
