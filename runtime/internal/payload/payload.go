// Package payload is payload.json, the same as in docs/payloads.md: what is listed is there, exactly, and nothing else.
package payload

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"
)

// Names of files, and the folder of an image that is a payload.
const (
	File      = "payload.json"
	Signature = "payload.sig"
	Folder    = "payload"
	Format    = 1
)

// Kinds of payloads.
const (
	Driver = "driver"
	Maca   = "maca"
)

// Kinds are all of them.
var Kinds = []string{Driver, Maca}

var roots = map[string][]string{Driver: {"modules", "mxdriver", "firmware"}, Maca: {"maca"}}

var (
	versions = regexp.MustCompile(`^[0-9][0-9A-Za-z._+-]{0,62}$`)
	sha256   = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// Listed is a file of a payload.
type Listed struct {
	Sha256 string `json:"sha256"`
	Size   int64  `json:"size"`
	Mode   uint32 `json:"mode"`
}

// Payload is the document. Fields that only an installer needs are passed on as they are.
type Payload struct {
	Format       int               `json:"format"`
	Kind         string            `json:"kind"`
	Version      string            `json:"version"`
	Architecture string            `json:"architecture"`
	Files        map[string]Listed `json:"files"`
	Links        map[string]string `json:"links,omitempty"`
}

// Size is how many bytes its files have.
func (payload *Payload) Size() int64 {
	var sum int64
	for _, one := range payload.Files {
		sum += one.Size
	}
	return sum
}

// Paths are its files in a fixed order.
func (payload *Payload) Paths() []string { return sorted(payload.Files) }

// LinkPaths are its links in a fixed order.
func (payload *Payload) LinkPaths() []string { return sorted(payload.Links) }

// Text is the file for it: the same for the same payload.
func (payload *Payload) Text() ([]byte, error) {
	if err := payload.check(); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(payload)
	return text.Bytes(), err
}

// Read understands a payload.json.
func Read(text []byte) (*Payload, error) {
	found := &Payload{}
	var files struct {
		Files map[string]struct {
			Mode *uint32 `json:"mode"`
		} `json:"files"`
	}
	if err := json.Unmarshal(text, found); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", File, err)
	}
	if err := json.Unmarshal(text, &files); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", File, err)
	}
	for path, one := range files.Files {
		if one.Mode == nil {
			listed := found.Files[path]
			listed.Mode = 0o644
			found.Files[path] = listed
		}
	}
	return found, found.check()
}

func (payload *Payload) check() error {
	if payload.Format != Format {
		return fmt.Errorf("%s has the format %d, and this program knows %d: stage it with a newer one", File,
			payload.Format, Format)
	}
	if !slices.Contains(Kinds, payload.Kind) {
		return fmt.Errorf("%s: kind is %q: it must be %s", File, payload.Kind, strings.Join(Kinds, " or "))
	}
	if !IsVersion(payload.Version) {
		return fmt.Errorf("%s: version is %q: it must be a number and what belongs to it, such as 2.32.0", File,
			payload.Version)
	}
	for path, one := range payload.Files {
		if err := payload.checkPath(path); err != nil {
			return err
		}
		if !sha256.MatchString(one.Sha256) || one.Size < 0 || one.Mode > 0o777 {
			return fmt.Errorf("%s: files has %q without its sha256, its size and a mode up to 0777", File, path)
		}
	}
	for path, target := range payload.Links {
		if err := payload.checkPath(path); err != nil {
			return err
		}
		if _, twice := payload.Files[path]; twice || !StaysInside(path, target) {
			return fmt.Errorf("%s: links has %q -> %q, which leads out of the payload", File, path, target)
		}
	}
	return payload.checkFolders()
}

// checkFolders refuses what lies below a link: it would be written to wherever that leads.
func (payload *Payload) checkFolders() error {
	seen := map[string]bool{}
	for _, path := range append(payload.Paths(), payload.LinkPaths()...) {
		for at := strings.LastIndexByte(path, '/'); at > 0; at = strings.LastIndexByte(path[:at], '/') {
			folder := path[:at]
			if seen[folder] {
				break
			}
			seen[folder] = true
			_, file := payload.Files[folder]
			if _, link := payload.Links[folder]; file || link {
				return fmt.Errorf("%s: files has %q: it must be in a folder, and %s is a file or a link", File, path, folder)
			}
		}
	}
	return nil
}

func (payload *Payload) checkPath(path string) error {
	parts := strings.Split(path, "/")
	plain := utf8.ValidString(path) && !strings.Contains(path, "\x00") && len(parts) > 1
	for _, part := range parts {
		plain = plain && part != "" && part != "." && part != ".."
	}
	if !plain || !slices.Contains(roots[payload.Kind], parts[0]) {
		return fmt.Errorf("%s: files has %q: it must be below %s, without . and ..", File, path,
			strings.Join(roots[payload.Kind], "/ or ")+"/")
	}
	return nil
}

// IsVersion tells whether a text can be a version.
func IsVersion(text string) bool { return versions.MatchString(text) }

// StaysInside tells whether a link with this path and target leads to something below the first folder of its path.
func StaysInside(path, target string) bool {
	if target == "" || strings.HasPrefix(target, "/") || strings.Contains(target, "\x00") || !utf8.ValidString(target) {
		return false
	}
	depth := strings.Count(path, "/") - 1
	for _, part := range strings.Split(target, "/") {
		switch part {
		case "..":
			depth--
		case ".", "":
		default:
			depth++
		}
		if depth < 0 {
			return false
		}
	}
	return true
}

var machines = map[string]bool{"amd64": true, "arm64": true, "x86_64": true, "aarch64": true}

// VersionOf is the version in the tag of an image such as maca-c500:2.23.0.4-ubuntu18.04-amd64; empty if it has none.
func VersionOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	_, tag, tagged := strings.Cut(image[strings.LastIndexByte(image, '/')+1:], ":")
	if !tagged {
		return ""
	}
	parts := strings.Split(tag, "-")
	if len(parts) > 2 && machines[parts[len(parts)-1]] {
		// What is before the system may have dashes of its own: 2.23.0.4-rc1-ubuntu22.04-amd64.
		tag = strings.Join(parts[:len(parts)-2], "-")
	} else if len(parts) == 2 && machines[parts[1]] {
		tag = parts[0]
	}
	if !IsVersion(tag) {
		return ""
	}
	return tag
}

func sorted[Value any](of map[string]Value) []string {
	names := make([]string, 0, len(of))
	for name := range of {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
