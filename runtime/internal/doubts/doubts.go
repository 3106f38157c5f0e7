// Package doubts keeps what a program that must not print has to say: one line for each, in a file of bounded size.
package doubts

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// File is where people look.
const File = "/var/log/metax/container-runtime.log"

const (
	largest = 1 << 20
	longest = 1000
)

// Log writes to a file, as well as it can: a log that cannot be written keeps no container from starting.
type Log struct {
	Path string
}

// Say adds a line.
func (log Log) Say(sentence string) {
	if len(sentence) > longest {
		sentence = sentence[:longest] + "..."
	}
	sentence = strings.Map(func(letter rune) rune {
		if letter < ' ' || letter == 0x7f {
			return ' '
		}
		return letter
	}, sentence)
	if info, err := os.Lstat(log.Path); err == nil && info.Size() > largest {
		_ = os.Rename(log.Path, log.Path+".1")
	} else if err != nil {
		_ = os.MkdirAll(filepath.Dir(log.Path), 0o755)
	}
	file, err := os.OpenFile(log.Path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o640)
	if err != nil {
		return
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return
	}
	// One write, so that containers that start at the same time do not mix their lines.
	_, _ = fmt.Fprintf(file, "%s %d %s\n", time.Now().UTC().Format(time.RFC3339), os.Getpid(), sentence)
}
