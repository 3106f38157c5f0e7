package doubts

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestALineIsALineAndTheFileStaysSmall(t *testing.T) {
	log := Log{Path: filepath.Join(t.TempDir(), "new", "file.log")}
	log.Say("one\nline\x1b[0m")
	text, err := os.ReadFile(log.Path)
	if err != nil || strings.Count(string(text), "\n") != 1 || strings.Contains(string(text), "\x1b") {
		t.Fatalf("%q %v", text, err)
	}
	for range 3000 {
		log.Say(strings.Repeat("x", 2*longest))
	}
	for _, path := range []string{log.Path, log.Path + ".1"} {
		if info, err := os.Stat(path); err != nil || info.Size() > largest+2*longest {
			t.Fatalf("%v %v", info, err)
		}
	}
}

func TestALogThatCannotBeWrittenIsNoProblem(t *testing.T) {
	folder := t.TempDir()
	elsewhere := filepath.Join(folder, "elsewhere")
	if err := os.Symlink(elsewhere, filepath.Join(folder, "link")); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{folder, filepath.Join(folder, "link"), "/proc/no/such", "/dev/full"} {
		Log{Path: path}.Say("x")
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Fatal("a link was followed")
	}
}
