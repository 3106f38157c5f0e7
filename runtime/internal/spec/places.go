package spec

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// What follows finds where values are in a text that is known to be valid JSON. Nothing is decoded that nobody asks
// for: a configuration has tens of thousands of bytes, and every container of the node waits for us.

type span struct{ from, to int }

type member struct {
	name  string
	value span
}

func (field member) text(text []byte) []byte { return text[field.value.from:field.value.to] }

var known = []string{"annotations", "root", "linux", "mounts", "devices", "path", "destination"}

// members are the fields of the object at a place, and where their values are.
//
// A field that is there twice, or one of ours in other letters, is read in one way by one runtime and in another by
// the next.
func members(text []byte, where span) ([]member, error) {
	if text[where.from] != '{' {
		return nil, errors.New("it is no JSON object")
	}
	var found []member
	seen := map[string]bool{}
	for at := skipSpace(text, where.from+1); text[at] != '}'; {
		end := skipString(text, at)
		name, err := decoded(text[at:end])
		if err != nil {
			return nil, err
		}
		if seen[name] {
			return nil, fmt.Errorf("the field %q is there twice", name)
		}
		seen[name] = true
		for _, ours := range known {
			if name != ours && strings.EqualFold(name, ours) {
				return nil, fmt.Errorf("it has the field %q, which may mean %q", name, ours)
			}
		}
		// Behind the colon.
		from := skipSpace(text, skipSpace(text, end)+1)
		to := skipValue(text, from)
		found = append(found, member{name, span{from, to}})
		at = skipComma(text, to)
	}
	return found, nil
}

// elements are the values of the list at a place; null is an empty one.
func elements(text []byte, where span) ([]span, error) {
	if string(text[where.from:where.to]) == "null" {
		return nil, nil
	}
	if text[where.from] != '[' {
		return nil, errors.New("it is no list")
	}
	var found []span
	for at := skipSpace(text, where.from+1); text[at] != ']'; {
		to := skipValue(text, at)
		found = append(found, span{at, to})
		at = skipComma(text, to)
	}
	return found, nil
}

func decoded(text []byte) (string, error) {
	var found string
	err := json.Unmarshal(text, &found)
	return found, err
}

func skipSpace(text []byte, at int) int {
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	return at
}

func skipComma(text []byte, at int) int {
	at = skipSpace(text, at)
	if text[at] == ',' {
		at = skipSpace(text, at+1)
	}
	return at
}

// skipString is behind the string that begins here.
func skipString(text []byte, at int) int {
	for at++; text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}

// skipValue is behind the value that begins here.
func skipValue(text []byte, at int) int {
	depth := 0
	for {
		switch text[at] {
		case '"':
			at = skipString(text, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		default:
			at++
			if depth == 0 {
				for at < len(text) && strings.IndexByte(",]} \t\r\n", text[at]) < 0 {
					at++
				}
			}
		}
		if depth == 0 {
			return at
		}
	}
}
