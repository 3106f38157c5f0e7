package staging

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"tangram.dev/runtime/internal/payload"
)

type world struct {
	*testing.T
	image, to string
	said      []string
}

func newWorld(t *testing.T) *world {
	return &world{T: t, image: t.TempDir(), to: t.TempDir()}
}

func (world *world) put(path, content string) {
	world.Helper()
	place := filepath.Join(world.image, path)
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		world.Fatal(err)
	}
	if err := os.WriteFile(place, []byte(content), 0o644); err != nil {
		world.Fatal(err)
	}
}

func (world *world) link(path, target string) {
	world.Helper()
	place := filepath.Join(world.image, path)
	if err := os.MkdirAll(filepath.Dir(place), 0o755); err != nil {
		world.Fatal(err)
	}
	if err := os.Symlink(target, place); err != nil {
		world.Fatal(err)
	}
}

// described puts a payload of MXMACA with these files and links into the image.
func (world *world) described(files, links map[string]string) {
	world.Helper()
	made := &payload.Payload{
		Format: 1, Kind: payload.Maca, Version: "1.0", Architecture: "amd64", Files: map[string]payload.Listed{}, Links: links,
	}
	for path, content := range files {
		world.put("payload/"+path, content)
		sum := sha256.Sum256([]byte(content))
		made.Files[path] = payload.Listed{Sha256: hex.EncodeToString(sum[:]), Size: int64(len(content)), Mode: 0o755}
	}
	text, err := made.Text()
	if err != nil {
		world.Fatal(err)
	}
	world.put("payload/"+payload.File, string(text))
}

func (world *world) stage(image string) (bool, error) {
	source, err := Find(world.image, payload.Maca, image)
	if err != nil {
		return false, err
	}
	defer source.Close()
	world.said = append(world.said, source.Said...)
	return Stage(context.Background(), source, world.to, "slug", func(text string) { world.said = append(world.said, text) })
}

// there is everything in the folder of payloads but locks.
func (world *world) there() []string {
	world.Helper()
	var found []string
	err := filepath.WalkDir(world.to, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !strings.HasPrefix(entry.Name(), ".lock-") {
			name, _ := filepath.Rel(world.to, path)
			found = append(found, name)
		}
		return err
	})
	if err != nil {
		world.Fatal(err)
	}
	slices.Sort(found)
	return found
}

func TestExactlyWhatIsListedArrives(t *testing.T) {
	world := newWorld(t)
	world.described(map[string]string{"maca/bin/x": "x", "maca/lib/y": "y"}, map[string]string{"maca/lib/l": "../bin/x"})
	world.put("payload/maca/other", "not listed")
	world.put("payload/"+payload.Signature, "signature")
	if wrote, err := world.stage("i:1"); !wrote || err != nil {
		t.Fatal(err)
	}
	want := []string{"slug/maca/bin/x", "slug/maca/lib/l", "slug/maca/lib/y", "slug/payload.json", "slug/payload.sig"}
	if !slices.Equal(world.there(), want) {
		t.Fatal(world.there())
	}
	if info, err := os.Stat(filepath.Join(world.to, "slug/maca/lib/l")); err != nil || info.Mode().Perm() != 0o755 {
		t.Fatal(info, err)
	}
	if _, err := Verify(context.Background(), filepath.Join(world.to, "slug")); err != nil {
		t.Fatal(err)
	}
}

func TestTheSameAgainIsLeftAloneAndAnythingElseReplaced(t *testing.T) {
	world := newWorld(t)
	world.described(map[string]string{"maca/x": "x"}, nil)
	for name, change := range map[string]func(){
		"nothing":           func() {},
		"another content":   func() { _ = os.WriteFile(filepath.Join(world.to, "slug/maca/x"), []byte("z"), 0o755) },
		"a file more":       func() { _ = os.WriteFile(filepath.Join(world.to, "slug/maca/z"), nil, 0o755) },
		"a file less":       func() { _ = os.Remove(filepath.Join(world.to, "slug/maca/x")) },
		"another mode":      func() { _ = os.Chmod(filepath.Join(world.to, "slug/maca/x"), 0o600) },
		"another payload":   func() { world.described(map[string]string{"maca/x": "y"}, nil) },
		"a signature":       func() { world.put("payload/"+payload.Signature, "s") },
		"a file for folder": func() { _ = os.RemoveAll(world.to + "/slug"); _ = os.WriteFile(world.to+"/slug", nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := world.stage("i:1"); err != nil {
				t.Fatal(err)
			}
			change()
			if wrote, err := world.stage("i:1"); err != nil || wrote == (name == "nothing") {
				t.Fatal(wrote, err)
			}
			if _, err := Verify(context.Background(), filepath.Join(world.to, "slug")); err != nil {
				t.Fatal(err)
			}
			if entries, _ := os.ReadDir(world.to); len(entries) != 2 {
				t.Fatal(entries)
			}
		})
	}
}

func TestAFailureLeavesWhatWasThere(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*world)
		why    string
	}{
		"another content": {func(world *world) { world.put("payload/maca/x", "NEW") }, "checksum"},
		"shorter":         {func(world *world) { world.put("payload/maca/x", "") }, "0 bytes"},
		"missing":         {func(world *world) { _ = os.Remove(filepath.Join(world.image, "payload/maca/x")) }, "cannot be read"},
		"a folder": {func(world *world) {
			_ = os.Remove(filepath.Join(world.image, "payload/maca/x"))
			world.put("payload/maca/x/y", "")
		}, "is no file"},
		"a link out of the image": {func(world *world) {
			_ = os.Remove(filepath.Join(world.image, "payload/maca/x"))
			world.link("payload/maca/x", "/etc/hostname")
		}, "cannot be read"},
		"links that lead out together": {func(world *world) {
			world.described(map[string]string{"maca/x": "x"}, map[string]string{"maca/a/up": "..", "maca/out": "a/up/../.."})
		}, "leads out"},
		"a list that is none": {func(world *world) { world.put("payload/"+payload.File, "{") }, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			world := newWorld(t)
			world.described(map[string]string{"maca/x": "old"}, nil)
			if _, err := world.stage("i:1"); err != nil {
				t.Fatal(err)
			}
			before := world.there()
			world.described(map[string]string{"maca/x": "new"}, nil)
			row.change(world)
			if _, err := world.stage("i:1"); err == nil || !strings.Contains(err.Error(), row.why) {
				t.Fatal(err)
			}
			if !slices.Equal(world.there(), before) {
				t.Fatal(world.there())
			}
		})
	}
}

func TestLeftoversOfKilledRunsAreRemovedAndThoseOfOthersAreNot(t *testing.T) {
	world := newWorld(t)
	world.described(map[string]string{"maca/x": "x"}, nil)
	for _, name := range []string{".staging-slug-0123456789abcdef", ".old-slug-0123456789abcdef", ".staging-slug-b-0123456789abcdef"} {
		if err := os.Mkdir(filepath.Join(world.to, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := world.stage("i:1"); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(world.to)
	if err != nil || len(entries) != 3 || entries[1].Name() != ".staging-slug-b-0123456789abcdef" {
		t.Fatal(entries, err)
	}
}

func TestAnImageOfTheVendorBecomesAPayload(t *testing.T) {
	world := newWorld(t)
	world.put("opt/maca-2.20.0/lib/libx.so.1", "x")
	world.link("opt/maca-2.20.0/lib/libx.so", "/opt/maca/lib/libx.so.1")
	world.link("opt/maca-2.20.0/lib/driver.so", "/opt/mxdriver/lib/driver.so")
	world.link("opt/maca", "/opt/maca-2.20.0")
	for image, version := range map[string]string{"maca-c500:latest": "2.20.0", "maca-c500:2.23.0.4-ubuntu18.04-amd64": "2.23.0.4"} {
		if _, err := world.stage(image); err != nil {
			t.Fatal(err)
		}
		found, err := Verify(context.Background(), filepath.Join(world.to, "slug"))
		if err != nil || found.Version != version || found.Links["maca/lib/libx.so"] != "../lib/libx.so.1" || len(found.Links) != 1 {
			t.Fatal(found, err)
		}
		if wrote, err := world.stage(image); wrote || err != nil {
			t.Fatal(wrote, err)
		}
	}
	if len(world.said) == 0 || !strings.Contains(world.said[0], "1 links that lead out of /opt/maca-2.20.0") {
		t.Fatal(world.said)
	}
}

func TestImagesThatBringNothing(t *testing.T) {
	for name, row := range map[string]struct {
		make func(*world)
		kind string
		why  string
	}{
		"no MXMACA":        {func(world *world) { world.put("etc/x", "") }, payload.Maca, "neither /payload/payload.json nor /opt/maca"},
		"two of them":      {func(world *world) { world.put("opt/maca-1/x", ""); world.put("opt/maca-2/x", "") }, payload.Maca, "2 folders"},
		"no version":       {func(world *world) { world.put("opt/maca/x", "") }, payload.Maca, "says which MXMACA"},
		"an empty one":     {func(world *world) { _ = os.MkdirAll(world.image+"/opt/maca-1", 0o755) }, payload.Maca, "is empty"},
		"links in circles": {func(world *world) { world.link("opt/maca", "maca") }, payload.Maca, "neither"},
		"no driver":        {func(world *world) { world.put("opt/maca-1/x", "") }, payload.Driver, "tangram images payload build"},
		"another kind": {func(world *world) { world.described(map[string]string{"maca/x": "x"}, nil) }, payload.Driver,
			"kind maca, and driver was asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			world := newWorld(t)
			row.make(world)
			if _, err := Find(world.image, row.kind, "image:latest"); err == nil || !strings.Contains(err.Error(), row.why) {
				t.Fatal(err)
			}
		})
	}
}

func TestWithoutAnExchangeTheOldOneGoesAside(t *testing.T) {
	world := newWorld(t)
	kept := renameat2
	renameat2 = nil
	defer func() { renameat2 = kept }()
	for _, content := range []string{"one", "two"} {
		world.described(map[string]string{"maca/x": content}, nil)
		if _, err := world.stage("i:1"); err != nil {
			t.Fatal(err)
		}
	}
	if text, err := os.ReadFile(filepath.Join(world.to, "slug/maca/x")); string(text) != "two" {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(world.to); len(entries) != 2 {
		t.Fatal(entries)
	}
}

func TestWhoIsToldToEndLeavesNothing(t *testing.T) {
	world := newWorld(t)
	world.described(map[string]string{"maca/x": "x"}, nil)
	source, err := Find(world.image, payload.Maca, "i:1")
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Stage(ctx, source, world.to, "slug", func(string) {}); err == nil || len(world.there()) > 0 {
		t.Fatal(err, world.there())
	}
}
