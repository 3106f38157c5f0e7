// mx-payload runs inside payload images, which may hold nothing else, and brings what they hold to the host.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"tangram.dev/runtime/internal/payload"
	"tangram.dev/runtime/internal/staging"
	"tangram.dev/runtime/internal/version"
)

const usage = `mx-payload brings the payload of an image to a folder of the host.

  mx-payload stage --image REF --kind driver|maca --to DIR --folder NAME [--from /] [--stay]
      Copy the payload of this image to DIR/NAME, whole or not at all. With --stay, wait for SIGTERM then.
  mx-payload verify DIR/NAME
      Compare what is there with its list.
  mx-payload install-tool --to FILE
      Copy this program.
  mx-payload version

Exit status: 0 done, 1 not done (a sentence on standard error says why), 2 the command line could not be read.
`

// errUsage is a command line that cannot be read.
type errUsage struct{ sentence string }

func (err errUsage) Error() string { return err.sentence }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	// Modes are those of the list, whatever the image's runtime thinks of them.
	syscall.Umask(0o022)
	err := run(ctx, os.Args[1:])
	if err == nil {
		return
	}
	sentence := "mx-payload: " + strings.ReplaceAll(err.Error(), "\n", "; ") + "."
	fmt.Fprintln(os.Stderr, sentence)
	// Where the kubelet looks for a reason; it is there before us or not at all.
	if file, err := os.OpenFile("/dev/termination-log", os.O_WRONLY|os.O_APPEND, 0); err == nil {
		_, _ = fmt.Fprint(file, sentence)
		_ = file.Close()
	}
	if errors.As(err, &errUsage{}) {
		os.Exit(2)
	}
	os.Exit(1)
}

func run(ctx context.Context, words []string) error {
	if len(words) == 0 {
		return errUsage{"it was not said what to do: write stage, verify, install-tool, version or help"}
	}
	switch words[0] {
	case "stage":
		return stage(ctx, words[1:])
	case "verify":
		return verify(ctx, words[1:])
	case "install-tool":
		return installTool(words[1:])
	case "version", "--version":
		fmt.Println("mx-payload", version.Version)
		return nil
	case "help", "--help", "-h":
		fmt.Print(usage)
		return nil
	}
	return errUsage{fmt.Sprintf("%q is no command: write stage, verify, install-tool, version or help", words[0])}
}

func stage(ctx context.Context, words []string) error {
	options := flag.NewFlagSet("stage", flag.ContinueOnError)
	image := options.String("image", "", "")
	kind := options.String("kind", "", "")
	to := options.String("to", "", "")
	folder := options.String("folder", "", "")
	from := options.String("from", "/", "")
	stay := options.Bool("stay", false, "")
	if help, err := parse(options, words, 0); help || err != nil {
		return err
	}
	switch {
	case *image == "":
		return errUsage{"--image is missing: write the name of this image"}
	case !slices.Contains(payload.Kinds, *kind):
		return errUsage{fmt.Sprintf("--kind is %q: write %s", *kind, strings.Join(payload.Kinds, " or "))}
	case !filepath.IsAbs(*to) || !filepath.IsAbs(*from):
		return errUsage{fmt.Sprintf("--to is %q and --from %q: write absolute paths", *to, *from)}
	case !staging.IsSlug(*folder):
		return errUsage{fmt.Sprintf("--folder is %q: write a name of letters, digits, dots and dashes", *folder)}
	}
	if err := bring(ctx, *image, *kind, *from, *to, *folder); err != nil {
		return err
	}
	if *stay {
		<-ctx.Done()
	}
	return nil
}

func bring(ctx context.Context, image, kind, from, to, folder string) error {
	source, err := staging.Find(filepath.Clean(from), kind, image)
	if err != nil {
		return err
	}
	defer source.Close()
	for _, sentence := range source.Said {
		say(sentence)
	}
	wrote, err := staging.Stage(ctx, source, to, folder, say)
	if err != nil {
		return fmt.Errorf("%s was not brought to %s: %w", image, filepath.Join(to, folder), err)
	}
	how := "is there already, unchanged"
	if wrote {
		how = "was brought"
	}
	say(fmt.Sprintf("%s %s of %s %s: %d files, %.1f MB in %s", kind, source.Payload.Version, image, how,
		len(source.Payload.Files), float64(source.Payload.Size())/1e6, filepath.Join(to, folder)))
	return nil
}

func verify(ctx context.Context, words []string) error {
	options := flag.NewFlagSet("verify", flag.ContinueOnError)
	if help, err := parse(options, words, 1); help || err != nil {
		return err
	}
	folder := options.Arg(0)
	if folder == "" {
		return errUsage{"verify needs the folder of a payload"}
	}
	found, err := staging.Verify(ctx, folder)
	if err != nil {
		return fmt.Errorf("%s is no whole payload: %w", folder, err)
	}
	fmt.Printf("%s %s for %s: %d files, %.1f MB\n", found.Kind, found.Version, found.Architecture, len(found.Files),
		float64(found.Size())/1e6)
	return nil
}

func installTool(words []string) error {
	options := flag.NewFlagSet("install-tool", flag.ContinueOnError)
	to := options.String("to", "", "")
	if help, err := parse(options, words, 0); help || err != nil {
		return err
	}
	if !filepath.IsAbs(*to) {
		return errUsage{fmt.Sprintf("--to is %q: write an absolute path", *to)}
	}
	source, err := os.Open("/proc/self/exe")
	if err != nil {
		return err
	}
	defer source.Close()
	if err := os.MkdirAll(filepath.Dir(*to), 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(*to), ".mx-payload-")
	if err != nil {
		return err
	}
	_, err = io.Copy(file, source)
	if err == nil {
		err = file.Chmod(0o755)
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file.Name(), *to)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("%s cannot be written: %w", *to, err)
	}
	return nil
}

// parse reads options; it tells whether only help was asked for, which it has given then.
func parse(options *flag.FlagSet, words []string, positions int) (bool, error) {
	options.SetOutput(io.Discard)
	err := options.Parse(words)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Print(usage)
		return true, nil
	}
	if err != nil {
		return false, errUsage{fmt.Sprintf("%s: %v; see `mx-payload help`", options.Name(), err)}
	}
	if options.NArg() > positions {
		return false, errUsage{fmt.Sprintf("%s does not know what to do with %q", options.Name(), options.Arg(positions))}
	}
	return false, nil
}

func say(sentence string) { fmt.Fprintln(os.Stderr, "mx-payload: "+sentence+".") }
