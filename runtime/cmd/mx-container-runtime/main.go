// mx-container-runtime is called in place of runc, and becomes runc.
//
// On the way it lets containers that were given a MetaX card see the host's MXMACA and driver libraries. It decides
// nothing else, prints nothing, and on any doubt changes nothing: a node whose containers do not start is worse than a
// container without MXMACA.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"tangram.dev/runtime/internal/doubts"
	"tangram.dev/runtime/internal/launch"
	"tangram.dev/runtime/internal/spec"
	"tangram.dev/runtime/internal/version"
)

const (
	largestConfig = 32 << 20
	notFound      = 127
)

const usage = `mx-container-runtime is an OCI runtime: it is called like runc, and hands every call on to runc.

Containers that have a MetaX card also see the host's folders that are named in
` + launch.SettingsFile + `:
  {"runtime": "/usr/bin/runc", "folders": ["/opt/maca", "/opt/mxdriver"]}

  mx-container-runtime --mx-version   the version of this program (--version is the real runtime's)
  mx-container-runtime --mx-help      this text
`

func main() {
	words := os.Args[1:]
	if len(words) == 1 && words[0] == "--mx-version" {
		fmt.Println("mx-container-runtime", version.Version)
		return
	}
	if len(words) == 1 && words[0] == "--mx-help" {
		fmt.Print(usage)
		return
	}
	place := launch.SettingsFile
	if told := os.Getenv(launch.SettingsVariable); told != "" {
		place = told
	}
	settings, err := launch.ReadSettings(place)
	log := doubts.Log{Path: doubts.File}
	if settings.Log != "" {
		log.Path = settings.Log
	}
	if err != nil {
		log.Say(fmt.Sprintf("%v; containers get nothing from us", err))
	}
	if call := launch.ReadArguments(words); call.MakesContainer() && len(settings.Folders) > 0 {
		prepare(call, settings, log)
	}
	programs, why := launch.Candidates(settings)
	for _, doubt := range why {
		log.Say(doubt)
	}
	failed := launch.Replace(programs, words)
	if others := launch.Others(); len(programs) > 0 {
		log.Say(failed.Error())
		failed = fmt.Errorf("%w, and %w", failed, launch.Replace(others, words))
	}
	log.Say(failed.Error())
	fmt.Fprintf(os.Stderr, "mx-container-runtime: no container can be started here: %v; install runc, or name the "+
		"runtime in %s.\n", failed, place)
	os.Exit(notFound)
}

// prepare adds what belongs to the container, or says why not.
func prepare(call launch.Call, settings launch.Settings, log doubts.Log) {
	// Whatever happens here, the container starts.
	defer func() {
		if problem := recover(); problem != nil {
			log.Say(fmt.Sprintf("a mistake of ours: %v", problem))
		}
	}()
	bundle, err := filepath.Abs(call.Bundle)
	if err == nil && call.Doubt != "" {
		err = errors.New(call.Doubt)
	}
	if err == nil {
		err = change(bundle, settings.Folders, log)
	}
	if err != nil {
		log.Say(fmt.Sprintf("%s is left as it is: %v", bundle, err))
	}
}

func change(bundle string, folders []string, log doubts.Log) error {
	place := filepath.Join(bundle, "config.json")
	info, err := os.Lstat(place)
	if err != nil {
		return err
	}
	owner, known := info.Sys().(*syscall.Stat_t)
	if !info.Mode().IsRegular() || info.Size() > largestConfig || !known {
		return errors.New("config.json is no file of an ordinary size")
	}
	text, err := os.ReadFile(place)
	if err != nil {
		return err
	}
	if !spec.MayHaveDevice(text) {
		return nil
	}
	config, err := spec.Read(text)
	if err != nil {
		return fmt.Errorf("config.json is not understood: %w", err)
	}
	if !config.HasDevice() {
		return nil
	}
	mounts, why := spec.Choose(config, folders, bundle)
	for _, doubt := range why {
		log.Say(fmt.Sprintf("%s: %s", bundle, doubt))
	}
	made, err := config.With(mounts)
	if err != nil || len(mounts) == 0 {
		return err
	}
	if !json.Valid(made) {
		return errors.New("the new config.json would be no JSON")
	}
	return replace(place, made, info.Mode().Perm(), owner)
}

// replace writes a file so that whoever reads it finds the old content or the new one.
func replace(place string, text []byte, mode os.FileMode, owner *syscall.Stat_t) error {
	file, err := os.CreateTemp(filepath.Dir(place), ".config.json-")
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil {
		err = file.Chmod(mode)
	}
	if err == nil && (int(owner.Uid) != os.Geteuid() || int(owner.Gid) != os.Getegid()) {
		err = file.Chown(int(owner.Uid), int(owner.Gid))
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), place)
	}
	if err != nil {
		_ = os.Remove(file.Name())
	}
	return err
}
