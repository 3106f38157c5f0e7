package staging

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"syscall"
	"time"
	"unsafe"
)

// margin of a disk is left to everybody else.
const margin = 16 << 20

// only waits until no other process stages this payload, and keeps others waiting.
func only(ctx context.Context, to, slug string, say func(string)) (func(), error) {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(filepath.Join(to, ".lock-"+slug), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for tries := 0; ; tries++ {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			break
		}
		if tries == 0 {
			say("another process stages the same payload: waiting for it")
		}
		select {
		case <-ctx.Done():
			_ = file.Close()
			return nil, errors.New("told to end while another process staged the same payload")
		case <-time.After(100 * time.Millisecond):
		}
	}
	if err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("%s cannot be locked: %w", file.Name(), err)
	}
	return func() { _ = file.Close() }, nil
}

// removeLeftovers takes away what killed processes left. Only the holder of the lock may.
func removeLeftovers(to, slug string) {
	ours := regexp.MustCompile(`^\.(staging|old)-` + regexp.QuoteMeta(slug) + `-[0-9a-f]{16}$`)
	entries, _ := os.ReadDir(to)
	for _, one := range entries {
		if ours.MatchString(one.Name()) {
			_ = os.RemoveAll(filepath.Join(to, one.Name()))
		}
	}
}

// refuseSmall says before anything is written that there is no room for it.
func refuseSmall(to string, size int64) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(to, &disk); err != nil {
		return err
	}
	free := int64(disk.Bavail) * int64(disk.Bsize)
	if free < size || (size > margin && free < size+margin) {
		return fmt.Errorf("the disk of %s has %.1f MB free, and the payload needs %.1f MB beside what is there: make "+
			"room there; nothing was written", to, float64(free)/1e6, float64(size)/1e6)
	}
	return nil
}

// swap puts a folder in the place of another one, in one step where the file system can.
func swap(staged, target string) error {
	folder := filepath.Dir(target)
	if _, err := os.Lstat(target); err == nil {
		if exchange(staged, target) == nil {
			// Now the old one has the name of the new one.
			if err := syncFolder(folder); err != nil {
				return err
			}
			return os.RemoveAll(staged)
		}
		aside := filepath.Join(folder, ".old-"+filepath.Base(target)+"-"+random())
		if err := os.Rename(target, aside); err != nil {
			return err
		}
		if err := os.Rename(staged, target); err != nil {
			return errors.Join(err, os.Rename(aside, target))
		}
		return syncFolder(folder)
	}
	if err := os.Rename(staged, target); err != nil {
		return err
	}
	return syncFolder(folder)
}

// Numbers of system calls that Go's own table lacks.
var (
	renameat2 = map[string]uintptr{"amd64": 316, "arm64": 276}
	syncfs    = map[string]uintptr{"amd64": 306, "arm64": 267}
)

const renameExchange = 2

func exchange(one, other string) error {
	number, known := renameat2[runtime.GOARCH]
	if !known {
		return syscall.ENOSYS
	}
	first, err := syscall.BytePtrFromString(one)
	if err != nil {
		return err
	}
	second, err := syscall.BytePtrFromString(other)
	if err != nil {
		return err
	}
	here := -100 // AT_FDCWD; both paths are absolute or seen from here
	_, _, failed := syscall.Syscall6(number, uintptr(here), uintptr(unsafe.Pointer(first)), uintptr(here),
		uintptr(unsafe.Pointer(second)), renameExchange, 0)
	if failed != 0 {
		return failed
	}
	return nil
}

// syncTree brings everything of a folder to the disk: one call instead of one for each of many thousand files.
func syncTree(folder string) error {
	file, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer file.Close()
	if number, known := syncfs[runtime.GOARCH]; known {
		_, _, failed := syscall.Syscall(number, file.Fd(), 0, 0)
		if failed == 0 {
			return nil
		}
		if failed != syscall.ENOSYS {
			return failed
		}
	}
	syscall.Sync()
	return nil
}

func syncFolder(folder string) error {
	file, err := os.Open(folder)
	if err != nil {
		return err
	}
	defer file.Close()
	return file.Sync()
}
