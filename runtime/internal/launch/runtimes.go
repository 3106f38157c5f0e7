package launch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Settings are what the agent of the node wrote for us.
type Settings struct {
	// Runtime is the real one, by its absolute path or by a name that is found on PATH.
	Runtime string `json:"runtime"`
	// Folders of the host that containers with cards see.
	Folders []string `json:"folders"`
	// Log is where doubts go, if not to the usual place.
	Log string `json:"log"`
}

// SettingsFile is where they are; SettingsVariable names another file.
const (
	SettingsFile     = "/var/lib/metax/container-runtime/runtime.json"
	SettingsVariable = "MX_CONTAINER_RUNTIME_SETTINGS"
)

// ReadSettings reads the file; with an error the settings are empty.
func ReadSettings(path string) (Settings, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Settings{}, err
	}
	var found Settings
	if err := json.Unmarshal(text, &found); err != nil {
		return Settings{}, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return found, nil
}

// Names are runtimes that do the work where the settings name none that is there, the usual one first.
var Names = []string{"runc", "crun"}

// Places are where they are looked for, after those of PATH: shims start with a short one.
var Places = []string{
	"/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin", "/bin", "/sbin", "/usr/libexec/crio",
	"/usr/lib/cri-o-runc/sbin", "/var/lib/rancher/rke2/bin", "/var/lib/rancher/k3s/data/current/bin",
}

// Candidates are the programs to try, in this order, and why the first is not the one of the settings.
func Candidates(settings Settings) ([]string, []string) {
	var found, doubts []string
	self := ownFile()
	add := func(path string) string {
		if why := unfit(path, self); why != "" {
			return why
		}
		found = append(found, path)
		return ""
	}
	if settings.Runtime == "" {
		doubts = append(doubts, "the settings name no runtime")
	} else if !strings.Contains(settings.Runtime, "/") {
		// An engine that names no path has its runtime on PATH, and so do we.
		if found = named(settings.Runtime, self); len(found) == 0 {
			doubts = append(doubts, fmt.Sprintf("the runtime %q of the settings is not on PATH", settings.Runtime))
		}
	} else if !filepath.IsAbs(settings.Runtime) {
		doubts = append(doubts, fmt.Sprintf("the runtime %q of the settings is no absolute path", settings.Runtime))
	} else if why := add(settings.Runtime); why != "" {
		doubts = append(doubts, fmt.Sprintf("the runtime %s of the settings %s", settings.Runtime, why))
	}
	if len(found) > 0 {
		// The others are looked for only where this one cannot be started.
		return found, doubts
	}
	return append(found, Others()...), doubts
}

// Others are runtimes in the usual places.
func Others() []string {
	var found []string
	self := ownFile()
	for _, name := range Names {
		found = append(found, named(name, self)...)
	}
	return found
}

// named are the programs of one name in the usual places.
func named(name string, self os.FileInfo) []string {
	var found []string
	for _, place := range append(filepath.SplitList(os.Getenv("PATH")), Places...) {
		path := filepath.Join(place, name)
		if filepath.IsAbs(path) && unfit(path, self) == "" {
			found = append(found, path)
		}
	}
	return found
}

// Replace makes this process the runtime. It returns only if none of the programs can be started.
func Replace(programs []string, words []string) error {
	err := fmt.Errorf("there is no %s on PATH or in %s", strings.Join(Names, " or "), strings.Join(Places[:4], ", "))
	for _, program := range programs {
		failed := syscall.Exec(program, append([]string{program}, words...), os.Environ())
		err = fmt.Errorf("%s cannot be started: %w", program, failed)
	}
	return err
}

func ownFile() os.FileInfo {
	info, err := os.Stat("/proc/self/exe")
	if err != nil {
		return nil
	}
	return info
}

// unfit says why a file cannot be the real runtime; empty where it can.
func unfit(path string, self os.FileInfo) string {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "is not there"
	case !info.Mode().IsRegular() || info.Mode().Perm()&0o111 == 0:
		return "is no program"
	case self == nil:
		return ""
	case os.SameFile(info, self):
		return "is this program itself"
	case info.Size() == self.Size() && sameContent(path):
		return "is a copy of this program"
	}
	return ""
}

func sameContent(path string) bool {
	one, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	other, err := os.ReadFile("/proc/self/exe")
	return err == nil && bytes.Equal(one, other)
}
