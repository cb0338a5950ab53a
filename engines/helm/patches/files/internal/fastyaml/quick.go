package fastyaml

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// quickMarshal writes what yaml.Marshal writes of a value that is made as most values of charts are: maps, lists, numbers,
// and strings of printable ASCII. It returns false for any value of which it isn't sure; each of its rules is one of
// go.yaml.in/yaml/v2's encoder or emitter.
func quickMarshal(value any) ([]byte, bool) {
	w := quickWriter{out: make([]byte, 0, 512)}
	switch v := value.(type) {
	case map[string]any:
		if len(v) == 0 || !w.mapping(v, 0, false) {
			return nil, false
		}
	case []any:
		if len(v) == 0 || !w.sequence(v, 0, false) {
			return nil, false
		}
	default:
		return nil, false
	}
	return w.out, true
}

type quickWriter struct{ out []byte }

const indentation = 2

// mapping writes a map that isn't empty, its keys so many columns in; the first may go on with a line.
func (w *quickWriter) mapping(m map[string]any, column int, goesOn bool) bool {
	keys, ok := sortedKeys(m)
	if !ok {
		return false
	}
	for _, key := range keys {
		if !goesOn {
			w.spaces(column)
		}
		goesOn = false
		if style := styleOf(key); style != plainStyle || len(key) > maxKey {
			return false
		}
		w.out = append(append(w.out, key...), ':')
		switch v := m[key].(type) {
		case map[string]any:
			if len(v) > 0 {
				w.out = append(w.out, '\n')
				if !w.mapping(v, column+indentation, false) {
					return false
				}
				continue
			}
		case []any:
			if len(v) > 0 {
				w.out = append(w.out, '\n')
				if !w.sequence(v, column, false) { // no further in than its key
					return false
				}
				continue
			}
		}
		if !w.scalar(m[key], column+indentation) {
			return false
		}
	}
	return true
}

// sequence writes a list that isn't empty.
func (w *quickWriter) sequence(list []any, column int, goesOn bool) bool {
	for _, element := range list {
		if !goesOn {
			w.spaces(column)
		}
		goesOn = false
		w.out = append(w.out, '-')
		switch v := element.(type) {
		case map[string]any:
			if len(v) > 0 {
				w.out = append(w.out, ' ')
				if !w.mapping(v, column+indentation, true) {
					return false
				}
				continue
			}
		case []any:
			if len(v) > 0 {
				w.out = append(w.out, ' ')
				if !w.sequence(v, column+indentation, true) {
					return false
				}
				continue
			}
		}
		if !w.scalar(element, column+indentation) {
			return false
		}
	}
	return true
}

// scalar writes a value on the line that began, or below it, so many columns in; and the end of the line.
func (w *quickWriter) scalar(value any, column int) bool {
	w.out = append(w.out, ' ')
	switch v := value.(type) {
	case nil:
		w.out = append(w.out, "null"...)
	case bool:
		w.out = strconv.AppendBool(w.out, v)
	case int:
		w.out = strconv.AppendInt(w.out, int64(v), 10)
	case int64:
		w.out = strconv.AppendInt(w.out, v, 10)
	case float64:
		number, ok := numberAsRead(v)
		if !ok {
			return false
		}
		if whole, isWhole := number.(int64); isWhole {
			w.out = strconv.AppendInt(w.out, whole, 10)
		} else {
			w.out = strconv.AppendFloat(w.out, v, 'g', -1, 64)
		}
	case map[string]any:
		if v == nil {
			w.out = append(w.out, "null"...)
		} else {
			w.out = append(w.out, "{}"...)
		}
	case []any:
		if v == nil {
			w.out = append(w.out, "null"...)
		} else {
			w.out = append(w.out, "[]"...)
		}
	case string:
		return w.text(v, column)
	default:
		return false
	}
	w.out = append(w.out, '\n')
	return true
}

func (w *quickWriter) text(text string, column int) bool {
	switch styleOf(text) {
	case plainStyle:
		w.words(text, column)
	case singleQuotedStyle:
		w.out = append(w.out, '\'')
		w.words(strings.ReplaceAll(text, "'", "''"), column)
		w.out = append(w.out, '\'')
	case doubleQuotedStyle:
		w.out = append(append(append(w.out, '"'), text...), '"')
	case literalStyle:
		w.literal(text, column)
		return true
	default:
		return false
	}
	w.out = append(w.out, '\n')
	return true
}

// bestWidth is how many columns of a line the emitter fills before it goes on in another.
const bestWidth = 80

// words writes text that begins and ends with something else than a space. Where a single space stands behind bestWidth the
// text goes on in a line below, so many columns in. (A key is written in one line, however long it is.)
func (w *quickWriter) words(text string, column int) {
	begin := bytes.LastIndexByte(w.out, '\n') + 1 // of the line
	for {
		// What comes before bestWidth, and then up to a space.
		fits := min(max(begin+bestWidth+1-len(w.out), 0), len(text))
		space := singleSpace(text, fits)
		if space < 0 {
			w.out = append(w.out, text...)
			return
		}
		w.out = append(append(w.out, text[:space]...), '\n')
		begin = len(w.out)
		w.spaces(column)
		text = text[space+1:]
	}
}

// singleSpace is where the first space from an index on is that has no other beside it; -1 if none is.
func singleSpace(text string, from int) int {
	for i := from; i < len(text); i++ {
		if text[i] == ' ' && text[i-1] != ' ' && text[i+1] != ' ' {
			return i
		}
	}
	return -1
}

// literal writes text that has one newline at its end, or none, and begins with neither space nor newline.
func (w *quickWriter) literal(text string, column int) {
	w.out = append(w.out, '|')
	if !strings.HasSuffix(text, "\n") {
		w.out = append(w.out, '-')
	}
	w.out = append(w.out, '\n')
	for line := range strings.Lines(text) {
		if line != "\n" {
			w.spaces(column)
		}
		w.out = append(w.out, line...)
	}
	if !strings.HasSuffix(text, "\n") {
		w.out = append(w.out, '\n')
	}
}

func (w *quickWriter) spaces(n int) {
	for range n {
		w.out = append(w.out, ' ')
	}
}

type style int

const (
	otherStyle style = iota // whatever isn't one of these for sure
	plainStyle
	singleQuotedStyle
	doubleQuotedStyle // without escapes
	literalStyle
)

// styleOf is how the emitter writes a string.
func styleOf(text string) style {
	if text == "" {
		return doubleQuotedStyle
	}
	indicator, newline := false, false
	for i := range len(text) {
		switch c := text[i]; {
		case c == '\n':
			newline = true
		case c < ' ' || c > '~':
			return otherStyle
		case c == ':' && (i+1 == len(text) || text[i+1] == ' '), c == '#' && i > 0 && text[i-1] == ' ':
			indicator = true
		}
	}
	last := text[len(text)-1]
	if newline {
		if text[0] == ' ' || text[0] == '\n' || last == ' ' || strings.Contains(text, " \n") || strings.HasSuffix(text, "\n\n") {
			return otherStyle
		}
		return literalStyle
	}
	if text[0] == ' ' || last == ' ' {
		return otherStyle
	}
	switch kind := kindOf(text); {
	case kind != plainStyle:
		return kind
	case indicator:
		return singleQuotedStyle
	}
	return plainStyle
}

// kindOf says how the beginning of a string and what it may be taken for want it written: strings that YAML 1.1 takes for
// something else get double quotes, those that begin with an indicator single ones.
func kindOf(text string) style {
	first := text[0]
	switch {
	case isLetter(first):
		if isReserved(text) {
			return doubleQuotedStyle
		}
		return plainStyle
	case isDigit(first):
		return kindOfNumber(text)
	case first == '-' && len(text) > 2 && (isLetter(text[1]) || text[1] == '-' && isLetter(text[2])):
		return plainStyle
	}
	switch first {
	case '/', '_', '$', '(', ';', '\\', '^':
		return plainStyle
	case '#', ',', '[', ']', '{', '}', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`':
		return singleQuotedStyle
	}
	return otherStyle
}

// kindOfNumber is kindOf for what begins with a digit: a number is one for sure if it has only digits, or digits around
// one point; none if it has a letter that no number, or any other byte that neither number nor time has.
func kindOfNumber(text string) style {
	digits, points := 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case isDigit(c):
			digits++
		case c == '.':
			points++
		case c == '/' || c == '%' || c == ',' || isLetter(c) && !strings.ContainsRune("abcdefopxtz", rune(c|0x20)):
			if strings.IndexByte(text, ':') >= 0 || len(text) > 4 && text[4] == '-' {
				return otherStyle
			}
			return plainStyle
		}
	}
	if digits+points == len(text) && len(text) < 16 {
		if points == 0 && (text[0] != '0' || len(text) == 1) || points == 1 && text[len(text)-1] != '.' {
			return doubleQuotedStyle
		}
		if points > 1 {
			return plainStyle
		}
	}
	return otherStyle
}

func isReserved(text string) bool {
	switch text {
	case "y", "Y", "yes", "Yes", "YES", "n", "N", "no", "No", "NO", "on", "On", "ON", "off", "Off", "OFF",
		"true", "True", "TRUE", "false", "False", "FALSE", "null", "Null", "NULL":
		return true
	}
	return false
}

// maxKey is below the length from which on the emitter writes keys another way.
const maxKey = 100

// sortedKeys sorts as the encoder does, which compares numbers within keys by value: where that would matter, it isn't
// sure.
func sortedKeys(m map[string]any) (keys []string, ok bool) {
	keys = make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	ok = true
	slices.SortFunc(keys, func(a, b string) int {
		for i := 0; i < len(a) && i < len(b); i++ {
			if a[i] == b[i] {
				continue
			}
			if isDigit(a[i]) || isDigit(b[i]) {
				ok = ok && (isLetter(a[i]) || isLetter(b[i]))
			}
			// What isn't a letter comes first.
			if isLetter(a[i]) != isLetter(b[i]) {
				if isLetter(b[i]) {
					return -1
				}
				return 1
			}
			return int(a[i]) - int(b[i])
		}
		return len(a) - len(b)
	})
	return keys, ok
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
