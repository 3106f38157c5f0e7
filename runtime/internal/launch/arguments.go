// Package launch knows how OCI runtimes are called, and finds the real one.
package launch

import (
	"slices"
	"strings"
)

// Call is what a command line asks of a runtime.
type Call struct {
	// Command is "create", "run" and the like; empty where there is none.
	Command string
	// Bundle is the folder of the container; empty for the current one.
	Bundle string
	// Doubt says why the command line is not understood.
	Doubt string
}

// MakesContainer tells whether the call reads a config.json that nothing has read before.
func (call Call) MakesContainer() bool { return call.Command == "create" || call.Command == "run" }

var commands = []string{
	"checkpoint", "create", "delete", "events", "exec", "features", "help", "init", "kill", "list", "pause", "ps",
	"restore", "resume", "run", "spec", "start", "state", "update", "version",
}

// Options before the command that take a value as a word of their own, in runc, crun and youki.
var withValue = []string{"cgroup-manager", "criu", "log", "log-format", "log-level", "root", "rootless", "r", "l"}

// Options of create and run that take one.
var commandWithValue = []string{"console-socket", "pid-file", "pidfd-socket", "preserve-fds"}

// ReadArguments understands the words after the program's name.
func ReadArguments(words []string) Call {
	at := 0
	for at < len(words) && strings.HasPrefix(words[at], "-") && words[at] != "--" {
		name := strings.TrimLeft(words[at], "-")
		takes := slices.Contains(withValue, name) && !strings.Contains(name, "=")
		at++
		if takes && at < len(words) {
			at++
		} else if !takes && at < len(words) && !strings.Contains(name, "=") && strange(words[at:]) {
			// An option we do not know, and its value.
			at++
		}
	}
	if at >= len(words) {
		return Call{}
	}
	call := Call{Command: words[at]}
	if call.MakesContainer() {
		readOptions(&call, words[at+1:])
	}
	return call
}

// strange tells whether the first word is neither an option nor a command, with a command still to come.
func strange(words []string) bool {
	if strings.HasPrefix(words[0], "-") || slices.Contains(commands, words[0]) {
		return false
	}
	return slices.ContainsFunc(words[1:], func(word string) bool { return slices.Contains(commands, word) })
}

func readOptions(call *Call, words []string) {
	for at := 0; at < len(words); at++ {
		word := words[at]
		if word == "--" {
			return
		}
		if !strings.HasPrefix(word, "-") {
			continue
		}
		name, value, joined := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case name == "bundle" || name == "b":
			if !joined {
				at++
				if at >= len(words) {
					call.Doubt = "the option " + word + " has no value"
					return
				}
				value = words[at]
			}
			call.Bundle = value
		case strings.HasPrefix(word, "-b/"):
			call.Bundle = word[len("-b"):]
		case name == "config" || name == "f":
			call.Doubt = "the container is described by another file than config.json"
			return
		case slices.Contains(commandWithValue, name) && !joined:
			at++
		}
	}
}
