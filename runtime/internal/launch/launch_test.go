package launch

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestHowRuntimesAreCalled(t *testing.T) {
	for line, want := range map[string]Call{
		"--root /r --log /l --log-format json --systemd-cgroup create --bundle /b --pid-file /p id": {"create", "/b", ""},
		"--root=/r create --bundle=/b id":     {"create", "/b", ""},
		"create -b /b id":                     {"create", "/b", ""},
		"create -b=/b id":                     {"create", "/b", ""},
		"create -b/b id":                      {"create", "/b", ""},
		"create -bundle /b id":                {"create", "/b", ""},
		"create id":                           {"create", "", ""},
		"run -d -b /b id":                     {"run", "/b", ""},
		"create -b /a -b /b id":               {"create", "/b", ""},
		"create --pid-file -b --bundle /b id": {"create", "/b", ""},
		"create -- -b":                        {"create", "", ""},
		"--new-option value create -b /b id":  {"create", "/b", ""},
		"--new-flag create -b /b id":          {"create", "/b", ""},
		"--root create delete id":             {"delete", "", ""},
		"--log create state create":           {"state", "", ""},
		"exec --bundle /b id create":          {"exec", "", ""},
		"restore --bundle /b id":              {"restore", "", ""},
		"--version":                           {},
		"":                                    {},
		"--root":                              {},
		"create --bundle":                     {"create", "", "the option --bundle has no value"},
		"create --config /c -b /b id":         {"create", "", "the container is described by another file than config.json"},
		"--cgroup-manager cgroupfs --log-level debug create --bundle /b x": {"create", "/b", ""},
	} {
		if got := ReadArguments(strings.Fields(line)); got != want {
			t.Errorf("%s: %+v", line, got)
		}
	}
}

func TestTheRealRuntimeIsNeverThisProgram(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("PATH", folder)
	Places = nil
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	put := func(name string, content []byte, mode os.FileMode) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	runc, crun, other := put("runc", []byte("#!"), 0o755), put("crun", []byte("#!"), 0o755), put("other", []byte("#!"), 0o755)
	copied, plain := put("copied", program, 0o755), put("plain", []byte("#!"), 0o644)
	for named, want := range map[string]string{
		other: other, "": runc, filepath.Join(folder, "none"): runc, self: runc, filepath.Join(folder, "link"): runc,
		copied: runc, plain: runc, folder: runc, "other": other, "crun": crun, "none": runc, "plain": runc, "./other": runc,
	} {
		found, doubts := Candidates(Settings{Runtime: named})
		meant := want == named || want == filepath.Join(folder, named)
		if len(found) == 0 || found[0] != want || (len(doubts) == 0) != (meant && named != "./other") {
			t.Errorf("%s: %v %v", named, found, doubts)
		}
	}
	if !slices.Equal(Others(), []string{runc, crun}) {
		t.Error(Others())
	}
	if err := os.Remove(runc); err != nil {
		t.Fatal(err)
	}
	put("runc", program, 0o755)
	if !slices.Equal(Others(), []string{crun}) {
		t.Error(Others())
	}
}

func TestSettings(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runtime.json")
	for text, good := range map[string]bool{
		`{"runtime":"/r","folders":["/opt/maca"],"later":1}`: true, `{}`: true, `{`: false, `[]`: false, `{"folders":"/a"}`: false,
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if settings, err := ReadSettings(path); (err == nil) != good || (err != nil && settings.Runtime != "") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
