package payload

import (
	"fmt"
	"strings"
	"testing"
)

const sum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func text(kind, files, links string) string {
	return fmt.Sprintf(`{"format":1,"kind":%q,"version":"2.32.0","architecture":"amd64","files":{%s},"links":{%s}}`, kind,
		files, links)
}

func file(path string) string { return fmt.Sprintf(`%q:{"sha256":%q,"size":0,"mode":493}`, path, sum) }

func TestAPayloadIsRead(t *testing.T) {
	found, err := Read([]byte(text("maca", file("maca/bin/x")+`,"maca/y":{"sha256":"`+sum+`","size":7}`, `"maca/l":"bin/x"`)))
	if err != nil || found.Files["maca/y"].Mode != 0o644 || found.Files["maca/bin/x"].Mode != 0o755 || found.Size() != 7 {
		t.Fatal(found, err)
	}
}

func TestWhatIsNoPayloadIsRefusedWithItsReason(t *testing.T) {
	for content, why := range map[string]string{
		`{`:                           "cannot be read",
		`{"format":2}`:                "format 2",
		`{"format":1,"kind":"other"}`: "driver or maca",
		`{"format":1,"kind":"maca","version":"x"}`:                             "such as 2.32.0",
		text("maca", file("modules/x"), ""):                                    "below maca/",
		text("maca", file("maca"), ""):                                         "below maca/",
		text("maca", file("maca/../x"), ""):                                    "without . and ..",
		text("maca", file("/maca/x"), ""):                                      "below maca/",
		text("driver", file("maca/x"), ""):                                     "modules/ or mxdriver/ or firmware/",
		text("maca", file("maca//x"), ""):                                      "below maca/",
		text("maca", `"maca/x":{"sha256":"00","size":1}`, ""):                  "sha256",
		text("maca", `"maca/x":{"sha256":"`+sum+`","size":-1}`, ""):            "sha256",
		text("maca", `"maca/x":{"sha256":"`+sum+`","size":1,"mode":4095}`, ""): "mode",
		text("maca", "", `"maca/x":"/etc/passwd"`):                             "leads out",
		text("maca", "", `"maca/x":"../y"`):                                    "leads out",
		text("maca", "", `"maca/a/x":"../../y"`):                               "leads out",
		text("maca", file("maca/x"), `"maca/x":"y"`):                           "leads out",
		text("maca", "", `"maca/x":""`):                                        "leads out",
		text("maca", file("maca/l/x"), `"maca/l":"y"`):                         "is a file or a link",
		text("maca", file("maca/x")+","+file("maca/x/y/z"), ""):                "is a file or a link",
		text("maca", "", `"maca/l":"y","maca/l/x":"z"`):                        "is a file or a link",
	} {
		if _, err := Read([]byte(content)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", content, err)
		}
	}
}

func TestVersionsInTags(t *testing.T) {
	for image, want := range map[string]string{
		"cr.metax-tech.com/library/maca-c500:2.23.0.4-ubuntu18.04-amd64": "2.23.0.4",
		"mxc500-maca:2.23.0.4-ubuntu20.04-amd64":                         "2.23.0.4",
		"localhost:5000/maca-n100:2.20.1-centos9-arm64@sha256:00":        "2.20.1",
		"maca-c500:2.23.0.4-rc1-ubuntu22.04-x86_64":                      "2.23.0.4-rc1",
		"maca-c500:2.23.0.4-arm64":                                       "2.23.0.4",
		"maca-c500:2.23.0.4":                                             "2.23.0.4",
		"maca-c500:latest":                                               "",
		"localhost:5000/maca-c500":                                       "",
		"":                                                               "",
	} {
		if got := VersionOf(image); got != want {
			t.Errorf("%s: %q", image, got)
		}
	}
}
