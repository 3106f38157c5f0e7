package staging

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"time"

	"tangram.dev/runtime/internal/payload"
)

var slugs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`)

// IsSlug tells whether a text can be the name of a payload's folder.
func IsSlug(text string) bool { return slugs.MatchString(text) }

// Stage brings a source to the folder to/slug, unless the same is there. It tells whether it wrote anything.
//
// say is told what a person should know meanwhile.
func Stage(ctx context.Context, source *Source, to, slug string, say func(string)) (bool, error) {
	unlock, err := only(ctx, to, slug, say)
	if err != nil {
		return false, err
	}
	defer unlock()
	removeLeftovers(to, slug)
	target := filepath.Join(to, slug)
	if isThere(ctx, source, target) {
		return false, nil
	}
	if err := refuseSmall(to, source.Payload.Size()); err != nil {
		return false, err
	}
	staged := filepath.Join(to, ".staging-"+slug+"-"+random())
	if err := fill(ctx, source, staged, say); err != nil {
		_ = os.RemoveAll(staged)
		return false, told(err, to)
	}
	if err := swap(staged, target); err != nil {
		_ = os.RemoveAll(staged)
		return false, told(err, to)
	}
	removeLeftovers(to, slug)
	return true, nil
}

// Verify compares a staged payload with its own list.
func Verify(ctx context.Context, folder string) (*payload.Payload, error) {
	text, err := os.ReadFile(filepath.Join(folder, payload.File))
	if err != nil {
		return nil, err
	}
	found, err := payload.Read(text)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, path := range found.Paths() {
		if err := compare(ctx, root, path, found.Files[path]); err != nil {
			return nil, err
		}
	}
	for _, path := range found.LinkPaths() {
		if target, err := os.Readlink(filepath.Join(folder, path)); err != nil || target != found.Links[path] {
			return nil, fmt.Errorf("%s is no link to %s", path, found.Links[path])
		}
	}
	return found, refuseOthers(folder, found)
}

func refuseOthers(folder string, known *payload.Payload) error {
	return filepath.WalkDir(folder, func(place string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(folder, place)
		_, isFile := known.Files[name]
		_, isLink := known.Links[name]
		if err == nil && !isFile && !isLink && name != payload.File && name != payload.Signature {
			return fmt.Errorf("%s is not listed in %s", name, payload.File)
		}
		return err
	})
}

func isThere(ctx context.Context, source *Source, target string) bool {
	text, err := os.ReadFile(filepath.Join(target, payload.File))
	if err != nil || string(text) != string(source.Text) {
		return false
	}
	signature, err := os.ReadFile(filepath.Join(target, payload.Signature))
	if errors.Is(err, fs.ErrNotExist) != (source.Signature == nil) || string(signature) != string(source.Signature) {
		return false
	}
	_, err = Verify(ctx, target)
	return err == nil
}

// fill makes the folder and everything in it, down to the disk.
func fill(ctx context.Context, source *Source, folder string, say func(string)) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	total, done, said := source.Payload.Size(), int64(0), time.Now()
	for _, path := range source.Payload.Paths() {
		count := func(size int64) {
			done += size
			if time.Since(said) > 10*time.Second {
				said = time.Now()
				say(fmt.Sprintf("%d of %d MB are copied", done/1e6, total/1e6))
			}
		}
		if err := copyFile(ctx, source, path, filepath.Join(folder, path), count); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, path := range source.Payload.LinkPaths() {
		place := filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(source.Payload.Links[path], place); err != nil {
			return err
		}
	}
	for _, path := range source.Payload.LinkPaths() {
		// Links of links can lead out although each of them looks harmless.
		if _, err := root.Stat(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("the link %s leads out of the payload (%w)", path, err)
		}
	}
	if source.Signature != nil {
		if err := write(filepath.Join(folder, payload.Signature), source.Signature); err != nil {
			return err
		}
	}
	if err := write(filepath.Join(folder, payload.File), source.Text); err != nil {
		return err
	}
	return syncTree(folder)
}

func write(place string, text []byte) error { return os.WriteFile(place, text, 0o644) }

// copyFile copies a listed file and refuses another content than the list has.
func copyFile(ctx context.Context, source *Source, path, place string, count func(int64)) error {
	listed := source.Payload.Files[path]
	from, err := source.open(path)
	if err != nil {
		return fmt.Errorf("%s, which %s lists, cannot be read: %w", path, payload.File, err)
	}
	defer from.Close()
	if info, err := from.Stat(); err != nil || !info.Mode().IsRegular() {
		return fmt.Errorf("%s, which %s lists, is no file", path, payload.File)
	}
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		return err
	}
	file, err := os.OpenFile(place, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	digest := sha256.New()
	size, err := io.Copy(io.MultiWriter(file, digest), &heeding{ctx, from, count})
	if err == nil {
		err = file.Chmod(os.FileMode(listed.Mode))
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return differs(path, listed, size, hex.EncodeToString(digest.Sum(nil)))
}

func compare(ctx context.Context, root *os.Root, path string, listed payload.Listed) error {
	file, err := root.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || uint32(info.Mode().Perm()) != listed.Mode {
		return fmt.Errorf("%s has the mode %s, and %s lists %04o", path, info.Mode(), payload.File, listed.Mode)
	}
	digest := sha256.New()
	size, err := io.Copy(digest, &heeding{ctx, file, func(int64) {}})
	if err != nil {
		return err
	}
	return differs(path, listed, size, hex.EncodeToString(digest.Sum(nil)))
}

func differs(path string, listed payload.Listed, size int64, digest string) error {
	if size != listed.Size {
		return fmt.Errorf("%s has %d bytes, and %s lists %d: the image is damaged, build or pull it again", path, size,
			payload.File, listed.Size)
	}
	if digest != listed.Sha256 {
		return fmt.Errorf("%s has the checksum %.12s, and %s lists %.12s: the image is damaged, build or pull it again",
			path, digest, payload.File, listed.Sha256)
	}
	return nil
}

// heeding is a reader that ends when it is told to, and counts.
type heeding struct {
	ctx   context.Context
	below io.Reader
	count func(int64)
}

func (reader *heeding) Read(into []byte) (int, error) {
	if err := reader.ctx.Err(); err != nil {
		return 0, errors.New("told to end before everything was copied")
	}
	size, err := reader.below.Read(into)
	reader.count(int64(size))
	return size, err
}

// told is an error with what to do about it.
func told(err error, to string) error {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("the disk of %s is full (%w): make room there; nothing was left behind", to, err)
	case errors.Is(err, syscall.EROFS):
		return fmt.Errorf("%s is read-only (%w): mount the host's folder so that it can be written", to, err)
	}
	return err
}

func random() string {
	var bytes [8]byte
	_, _ = rand.Read(bytes[:])
	return hex.EncodeToString(bytes[:])
}
