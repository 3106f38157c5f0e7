// Package staging brings a payload from an image to a folder of the host: whole, or not at all.
package staging

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"tangram.dev/runtime/internal/payload"
)

// Source is what an image has to give.
type Source struct {
	Payload *payload.Payload
	// Text and Signature are the exact files; without a signature the second is nil.
	Text, Signature []byte
	// Said is what a person should know of it.
	Said []string

	root *os.Root
	// cut is what a payload's path has before its path below root.
	cut string
}

// Close gives its folder back.
func (source *Source) Close() { _ = source.root.Close() }

// open opens a listed file. It stays in the image's folder, whatever links there are.
func (source *Source) open(listed string) (*os.File, error) {
	return source.root.Open(strings.TrimPrefix(listed, source.cut))
}

// Find looks for a payload of a kind in the file system of an image.
func Find(from, kind, image string) (*Source, error) {
	folder := filepath.Join(from, payload.Folder)
	text, err := os.ReadFile(filepath.Join(folder, payload.File))
	if err == nil {
		return described(folder, text, kind, image)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s of %s cannot be read: %w", payload.File, image, err)
	}
	if kind == payload.Maca {
		return plainMaca(from, image)
	}
	return nil, fmt.Errorf("%s is no payload, it has no /%s/%s: build one from the driver's folder with "+
		"`tangram images payload build`", image, payload.Folder, payload.File)
}

func described(folder string, text []byte, kind, image string) (*Source, error) {
	found, err := payload.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", image, err)
	}
	if found.Kind != kind {
		return nil, fmt.Errorf("%s is a payload of the kind %s, and %s was asked for: name it where that kind belongs",
			image, found.Kind, kind)
	}
	signature, err := os.ReadFile(filepath.Join(folder, payload.Signature))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s of %s cannot be read: %w", payload.Signature, image, err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	return &Source{Payload: found, Text: text, Signature: signature, root: root}, nil
}

// plainMaca makes a payload of an MXMACA image as the vendor ships it, which has no list of its files.
func plainMaca(from, image string) (*Source, error) {
	folder, err := macaFolder(from, image)
	if err != nil {
		return nil, err
	}
	version := payload.VersionOf(image)
	if named := strings.TrimPrefix(filepath.Base(folder), "maca-"); version == "" && payload.IsVersion(named) {
		version = named
	}
	if version == "" {
		return nil, fmt.Errorf("neither the tag of %s nor the folder %s says which MXMACA it is: give the image a tag "+
			"such as 2.23.0.4-ubuntu22.04-amd64", image, shown(from, folder))
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	source := &Source{root: root, cut: "maca/", Payload: &payload.Payload{
		Format: payload.Format, Kind: payload.Maca, Version: version, Architecture: runtime.GOARCH,
		Files: map[string]payload.Listed{}, Links: map[string]string{},
	}}
	if err := source.list(folder, shown(from, folder), image); err != nil {
		source.Close()
		return nil, err
	}
	source.Text, err = source.Payload.Text()
	if err == nil && len(source.Payload.Files) == 0 {
		err = fmt.Errorf("%s of %s is empty", shown(from, folder), image)
	}
	if err != nil {
		source.Close()
		return nil, err
	}
	return source, nil
}

// macaFolder is where MXMACA is: behind the link /opt/maca, or the only folder /opt/maca-*.
func macaFolder(from, image string) (string, error) {
	place := filepath.Join(from, "opt", "maca")
	for range 8 {
		info, err := os.Lstat(place)
		if err != nil {
			break
		}
		if info.IsDir() {
			return place, nil
		}
		target, err := os.Readlink(place)
		if err != nil {
			break
		}
		if path.IsAbs(target) {
			place = filepath.Join(from, target)
		} else {
			place = filepath.Join(filepath.Dir(place), target)
		}
	}
	found, _ := filepath.Glob(filepath.Join(from, "opt", "maca-*"))
	var folders []string
	for _, one := range found {
		if info, err := os.Lstat(one); err == nil && info.IsDir() {
			folders = append(folders, one)
		}
	}
	if len(folders) == 1 {
		return folders[0], nil
	}
	if len(folders) == 0 {
		return "", fmt.Errorf("%s has neither /%s/%s nor /opt/maca, so it brings no MXMACA: name an MXMACA image, or "+
			"build a payload with `tangram images payload build`", image, payload.Folder, payload.File)
	}
	return "", fmt.Errorf("%s has %d folders /opt/maca-* and no link /opt/maca that says which is meant", image,
		len(folders))
}

// list fills in what the folder has. seen is its name in the image.
func (source *Source) list(folder, seen, image string) error {
	var left []string
	err := filepath.WalkDir(folder, func(place string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(folder, place)
		if err != nil || entry.IsDir() {
			return err
		}
		name := "maca/" + inside
		switch {
		case entry.Type()&fs.ModeSymlink != 0:
			target, err := os.Readlink(place)
			if err != nil {
				return err
			}
			if kept := relative(name, target, seen); kept != "" {
				source.Payload.Links[name] = kept
			} else {
				left = append(left, seen+"/"+inside)
			}
		case entry.Type().IsRegular():
			listed, err := source.measure(name)
			if err != nil {
				return err
			}
			source.Payload.Files[name] = listed
		default:
			return fmt.Errorf("%s/%s is neither a file nor a link", seen, inside)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%s of %s cannot be read: %w", seen, image, err)
	}
	if len(left) > 0 {
		source.Said = append(source.Said, fmt.Sprintf("%d links that lead out of %s are left out, such as %s",
			len(left), seen, left[0]))
	}
	return nil
}

// relative is the target of a link as it is inside a payload; empty where it leads out of it.
func relative(name, target, seen string) string {
	for _, prefix := range []string{seen + "/", "/opt/maca/"} {
		if rest, found := strings.CutPrefix(target, prefix); found {
			target = strings.Repeat("../", strings.Count(name, "/")-1) + rest
			break
		}
	}
	if !payload.StaysInside(name, target) {
		return ""
	}
	return target
}

func (source *Source) measure(name string) (payload.Listed, error) {
	file, err := source.open(name)
	if err != nil {
		return payload.Listed{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return payload.Listed{}, err
	}
	digest := sha256.New()
	size, err := io.Copy(digest, file)
	return payload.Listed{
		Sha256: hex.EncodeToString(digest.Sum(nil)), Size: size, Mode: uint32(info.Mode().Perm()),
	}, err
}

// shown is a path as the image has it.
func shown(from, place string) string {
	return "/" + strings.TrimPrefix(strings.TrimPrefix(place, from), "/")
}
