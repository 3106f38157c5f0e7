// Package spec adds mounts to a container's config.json without touching anything else in it.
//
// The file belongs to whoever starts the container and to the runtime that reads it; both may know fields that we do
// not. So the document is never written anew from what was understood: its bytes stay, and the new mounts are put
// between them. What does not look exactly as expected is a doubt, and a doubt changes nothing.
package spec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
)

// Device is the node that every container with MetaX cards, virtual functions or slices has.
const Device = "/dev/mxcd"

// Annotation is how a pod chooses its MXMACA: Image for the one in its image, or a version of the host's.
const (
	Annotation = "tangram.dev/maca"
	Image      = "image"
)

// Config is as much of a container's configuration as we need to know.
type Config struct {
	text   []byte
	mounts span
	// first is where the first field of the document begins.
	first int
	empty bool

	Annotations  map[string]string
	Root         string
	Devices      []string
	Destinations []Destination
}

// Destination is a mount that the container has already.
type Destination struct {
	Path string
	// at is where the mount's text begins.
	at int
}

// Mount is one to be added: the host's folder From is seen at To.
type Mount struct {
	From, To string
	// Before is the index in Destinations of the mount that must come later; -1 for none.
	Before int
}

// MayHaveDevice is false where a config.json certainly names no card: most containers need no second look.
func MayHaveDevice(text []byte) bool { return bytes.Contains(text, []byte(path.Base(Device))) }

// Read understands a config.json. An error is a doubt.
func Read(text []byte) (*Config, error) {
	// Everything after this may rely on it.
	if !json.Valid(text) {
		return nil, errors.New("it is no JSON")
	}
	config := &Config{text: text, mounts: span{-1, -1}}
	whole := span{skipSpace(text, 0), len(text)}
	fields, err := members(text, whole)
	if err != nil {
		return nil, err
	}
	config.first = whole.from + 1
	config.empty = len(fields) == 0
	for _, field := range fields {
		switch field.name {
		case "annotations":
			err = json.Unmarshal(field.text(text), &config.Annotations)
		case "root":
			var root struct{ Path string }
			err = json.Unmarshal(field.text(text), &root)
			config.Root = root.Path
		case "linux":
			config.Devices, err = devices(text, field.value)
		case "mounts":
			config.mounts = field.value
			config.Destinations, err = destinations(text, field.value)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", field.name, err)
		}
	}
	return config, nil
}

// HasDevice tells whether the container was given a card, or a part of one.
func (config *Config) HasDevice() bool {
	for _, one := range config.Devices {
		if path.Clean(one) == Device {
			return true
		}
	}
	return false
}

// With is the document with these mounts. Everything that was in it is still there, byte for byte.
func (config *Config) With(mounts []Mount) ([]byte, error) {
	if len(mounts) == 0 {
		return config.text, nil
	}
	put := map[int][]string{}
	end := config.mounts.to - 1
	for _, one := range mounts {
		text, err := json.Marshal(struct {
			Destination string   `json:"destination"`
			Type        string   `json:"type"`
			Source      string   `json:"source"`
			Options     []string `json:"options"`
		}{one.To, "bind", one.From, []string{"rbind", "ro", "nosuid", "nodev", "rprivate"}})
		if err != nil {
			return nil, err
		}
		at := end
		if one.Before >= 0 {
			at = config.Destinations[one.Before].at
		}
		put[at] = append(put[at], string(text))
	}
	if config.mounts.from < 0 || string(config.slice(config.mounts)) == "null" {
		return config.withField(strings.Join(put[end], ","))
	}
	var made bytes.Buffer
	made.Grow(len(config.text) + 1024)
	for at, letter := range config.text {
		if texts, there := put[at]; there {
			joined := strings.Join(texts, ",")
			switch {
			case at != end:
				joined += ","
			case len(config.Destinations) > 0:
				joined = "," + joined
			}
			made.WriteString(joined)
		}
		made.WriteByte(letter)
	}
	return made.Bytes(), nil
}

// withField is for a document without any mounts.
func (config *Config) withField(list string) ([]byte, error) {
	from, to, field := config.first, config.first, `"mounts":[`+list+`]`
	if config.mounts.from >= 0 {
		from, to, field = config.mounts.from, config.mounts.to, "["+list+"]"
	} else if !config.empty {
		field += ","
	}
	made := append([]byte(nil), config.text[:from]...)
	made = append(made, field...)
	return append(made, config.text[to:]...), nil
}

func (config *Config) slice(where span) []byte {
	return config.text[where.from:where.to]
}

func devices(text []byte, where span) ([]string, error) {
	if string(text[where.from:where.to]) == "null" {
		return nil, nil
	}
	fields, err := members(text, where)
	if err != nil {
		return nil, err
	}
	for _, field := range fields {
		if field.name == "devices" {
			paths, _, err := texts(text, field.value, "path")
			return paths, err
		}
	}
	return nil, nil
}

func destinations(text []byte, where span) ([]Destination, error) {
	paths, places, err := texts(text, where, "destination")
	if err != nil {
		return nil, err
	}
	found := make([]Destination, 0, len(paths))
	for index, one := range paths {
		found = append(found, Destination{path.Clean("/" + one), places[index].from})
	}
	return found, nil
}

// texts are the values of one field in all objects of a list, and where the objects are; every one must have it.
func texts(text []byte, where span, field string) ([]string, []span, error) {
	places, err := elements(text, where)
	if err != nil {
		return nil, nil, err
	}
	found := make([]string, 0, len(places))
	for _, place := range places {
		fields, err := members(text, place)
		if err != nil {
			return nil, nil, err
		}
		value := ""
		for _, one := range fields {
			if one.name == field {
				if err := json.Unmarshal(one.text(text), &value); err != nil {
					return nil, nil, err
				}
			}
		}
		if value == "" {
			return nil, nil, fmt.Errorf("one of the list has no %s", field)
		}
		found = append(found, value)
	}
	return found, places, nil
}
