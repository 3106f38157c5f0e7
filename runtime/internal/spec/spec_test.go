package spec

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const card = `"linux":{"devices":[{"path":"/dev/null"},{"path":"/dev/mxcd","type":"c","major":234}]}`

func macaMount(before int) []Mount {
	return []Mount{{From: "/opt/maca-1", To: "/opt/maca", Before: before}}
}

const added = `{"destination":"/opt/maca","type":"bind","source":"/opt/maca-1",` +
	`"options":["rbind","ro","nosuid","nodev","rprivate"]}`

func TestMountsArePutBetweenTheBytesThatAreThere(t *testing.T) {
	for name, row := range map[string]struct {
		before       int
		config, want string
	}{
		"after the others": {-1, "{\n \"mounts\": [ {\"destination\":\"/proc\"} ], \"x\":1e400 }",
			"{\n \"mounts\": [ {\"destination\":\"/proc\"} ," + added + "], \"x\":1e400 }"},
		"before one":    {1, `{"mounts":[{"destination":"/a"}, {"destination":"/opt/maca/x"}]}`, `{"mounts":[{"destination":"/a"}, ` + added + `,{"destination":"/opt/maca/x"}]}`},
		"an empty list": {-1, `{"mounts":[ ]}`, `{"mounts":[ ` + added + `]}`},
		"null":          {-1, `{"a":12345678901234567890,"mounts":null}`, `{"a":12345678901234567890,"mounts":[` + added + `]}`},
		"none":          {-1, `{"a":1.10}`, `{"mounts":[` + added + `],"a":1.10}`},
		"an empty one":  {-1, ` { } `, ` {"mounts":[` + added + `] } `},
		"text that misleads": {-1, `{"a":"\"mounts\":[]","mounts":[],"b":{"mounts":[]}}`,
			`{"a":"\"mounts\":[]","mounts":[` + added + `],"b":{"mounts":[]}}`},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := Read([]byte(row.config))
			if err != nil {
				t.Fatal(err)
			}
			made, err := config.With(macaMount(row.before))
			if err != nil || string(made) != row.want {
				t.Fatalf("%v\n%s\n%s", err, made, row.want)
			}
		})
	}
}

func TestWhatIsNotUnderstoodIsADoubt(t *testing.T) {
	for _, text := range []string{
		``, `[]`, `null`, `{`, `{"mounts":[}`, `{"mounts":{}}`, `{"mounts":[1]}`, `{"mounts":[{}]}`, `{"mounts":"x"}`,
		`{"mounts":[],"mounts":[]}`, `{"Mounts":[]}`, `{"linux":[]}`, `{"linux":{"devices":{}}}`,
		`{"linux":{"devices":[{"path":1}]}}`, `{"linux":{"Devices":[]}}`, `{"annotations":[]}`, `{"root":"x"}`, `{} {}`,
		`{"mounts":[{"destination":"/a","destination":"/b"}]}`, strings.Repeat(`{"a":`, 20000),
	} {
		if _, err := Read([]byte(text)); err == nil {
			t.Errorf("%.60s was understood", text)
		}
	}
}

func TestOnlyTheCardsOwnNodeCounts(t *testing.T) {
	for text, want := range map[string]bool{
		`{` + card + `}`: true,
		`{"linux":{"devices":[{"path":"/dev//mxcd"}]}}`: true,
		`{"linux":{"devices":[{"path":"/dev/mxcd0"}]}}`: false,
		`{"linux":{"devices":null}}`:                    false,
		`{"linux":null}`:                                false,
		`{}`:                                            false,
		`{"devices":[{"path":"/dev/mxcd"}]}`:            false,
		`{"linux":{"resources":{"devices":[{"path":"/dev/mxcd"}]}}}`:        false,
		`{"linux":{"devices":[]},"annotations":{"a":"/dev/mxcd"}}`:          false,
		`{"linux":{"devices":[{"path":"/dev/dri/card0","type":"\u0063"}]}}`: false,
	} {
		config, err := Read([]byte(text))
		if err != nil || config.HasDevice() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestWhatAContainerSees(t *testing.T) {
	host := t.TempDir()
	maca, driver := filepath.Join(host, "maca"), filepath.Join(host, "mxdriver")
	for _, folder := range []string{"maca-1/lib", "maca-2", "mxdriver", "rootfs" + host} {
		if err := os.MkdirAll(filepath.Join(host, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("maca-1", maca); err != nil {
		t.Fatal(err)
	}
	first, second := maca+"-1", maca+"-2"
	both := []string{maca, driver}
	for name, row := range map[string]struct {
		config  string
		folders []string
		want    []Mount
		doubts  int
	}{
		"where the link leads now":  {`{}`, both, []Mount{{first, maca, -1}, {driver, driver, -1}}, 0},
		"the image's own":           {`{"annotations":{"tangram.dev/maca":"image"}}`, both, []Mount{{driver, driver, -1}}, 0},
		"another version":           {`{"annotations":{"tangram.dev/maca":"2"}}`, both, []Mount{{second, maca, -1}, {driver, driver, -1}}, 0},
		"a version not there":       {`{"annotations":{"tangram.dev/maca":"3"}}`, both, []Mount{{driver, driver, -1}}, 1},
		"a version that leads out":  {`{"annotations":{"tangram.dev/maca":"1/../../etc"}}`, both, []Mount{{driver, driver, -1}}, 1},
		"no annotation to speak of": {`{"annotations":{"tangram.dev/maca":""}}`, []string{maca}, []Mount{{first, maca, -1}}, 0},
		"mounted already":           {`{"mounts":[{"destination":"` + maca + `/"}]}`, both, []Mount{{driver, driver, -1}}, 0},
		"something inside":          {`{"mounts":[{"destination":"/a"},{"destination":"` + maca + `/lib"}]}`, []string{maca}, []Mount{{first, maca, 1}}, 0},
		"something new inside":      {`{"mounts":[{"destination":"` + maca + `/lib"},{"destination":"` + maca + `/new"}]}`, []string{maca}, nil, 1},
		"the folder above":          {`{"mounts":[{"destination":"` + host + `"}]}`, []string{maca}, nil, 1},
		"the root":                  {`{"mounts":[{"destination":"/"}]}`, []string{maca}, []Mount{{first, maca, -1}}, 0},
		"nothing on the host":       {`{}`, []string{host + "/none"}, nil, 0},
		"settings that are odd":     {`{}`, []string{"opt", "/", "/a/../b", ""}, nil, 4},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := Read([]byte(row.config))
			if err != nil {
				t.Fatal(err)
			}
			got, doubts := Choose(config, row.folders, host)
			if !reflect.DeepEqual(got, row.want) || len(doubts) != row.doubts {
				t.Fatalf("%v %v", got, doubts)
			}
		})
	}
	if err := os.WriteFile(filepath.Join(host, "rootfs", maca), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	config, err := Read([]byte(`{"root":{"path":"rootfs"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, doubts := Choose(config, []string{maca}, host); got != nil || len(doubts) != 1 {
		t.Fatalf("a file in the image: %v %v", got, doubts)
	}
}

// Whatever is understood comes back with our mount and otherwise as it was.
func FuzzConfig(f *testing.F) {
	for _, seed := range []string{
		`{` + card + `,"mounts":[{"destination":"/proc","options":["ro"]}],"hooks":null}`, `{"mounts":null}`, `{}`,
		`{"mounts":[]}`, `{"x":1E+2,"mounts":[{"destination":"\u002fopt"}]}`, `{"a":{"b":[[[]]]}}`, "{\"a\":\"\xff\"}",
		`{"mounts":[{"destination":"/a"}],"y":0.1000}`, `{"mounts" : [ {"destination" : "/opt/maca/lib"} ] }`, `[`, `1`, "{}\v",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		config, err := Read(text)
		if err != nil {
			return
		}
		made, err := config.With(macaMount(-1))
		if err != nil {
			t.Fatal(err)
		}
		if !json.Valid(made) {
			t.Fatalf("%q became %q", text, made)
		}
		again, err := Read(made)
		if err != nil {
			t.Fatal(err)
		}
		count := len(again.Destinations)
		if count != len(config.Destinations)+1 || again.Destinations[count-1].Path != "/opt/maca" {
			t.Fatalf("%q became %q", text, made)
		}
		if !reflect.DeepEqual(again.Devices, config.Devices) || !reflect.DeepEqual(again.Annotations, config.Annotations) {
			t.Fatalf("%q became %q", text, made)
		}
		if !strings.Contains(string(made), added) || len(made) < len(text)+len(added)-len("null") {
			t.Fatalf("%q became %q", text, made)
		}
	})
}
