// Program helm compares the Helm engine with Helm: every chart of Helm's own tests, and the charts of charts/, rendered
// by `helm template` and by the engine, must print the same bytes, or fail with the same words. README.md says how to
// run it.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

var chartsDirectory string // where cases.txt and the charts of our own are; flags name files relative to it

func main() { os.Exit(run()) }

// run returns the exit code, after what it made was removed.
func run() int {
	helm := flag.String("helm", "", "the program helm")
	program := flag.String("engine", "", "the engine as a program (engines/helm/build.sh --native)")
	sources := flag.String("sources", "", "Helm's sources, whose test charts to compare")
	whole := flag.String("mistctl", "", "the program mistctl, to be compared instead of the engine alone")
	list := flag.String("explained", "", "the cases in which mistctl may differ, and why")
	prepared := flag.Bool("prepared", false, "prepare the engine first, as for a snapshot with the chart in it")
	directory := flag.String("charts", ".", "the directory with cases.txt")
	only := flag.String("only", "", "only the cases whose name contains this")
	jobs := flag.Int("j", 2, "cases at a time")
	flag.Parse()
	var err error
	if chartsDirectory, err = filepath.Abs(*directory); err != nil {
		fail(err)
	}
	cases, err := ownCases(chartsDirectory)
	if err != nil {
		fail(err)
	}
	if *sources != "" {
		theirs, err := peerCases(*sources)
		if err != nil {
			fail(err)
		}
		cases = append(cases, theirs...)
	}
	var selected []testCase
	for _, c := range cases {
		if strings.Contains(c.name, *only) {
			selected = append(selected, c)
		}
	}
	if len(selected) == 0 {
		fail(fmt.Errorf("no case is selected"))
	}
	if *program != "" && *only == "" {
		unused, err := unusedFunctions(*program)
		if err != nil {
			fail(err)
		}
		if len(unused) > 0 {
			fail(fmt.Errorf("no template of charts/functions uses %s", strings.Join(unused, ", ")))
		}
	}
	c := comparison{helm: *helm, subject: func(c testCase) (outcome, error) { return engine(*program, *prepared, c) }}
	c.agree = sameOutcome
	if *whole != "" {
		home, err := os.MkdirTemp("", "helm-conformance")
		if err != nil {
			fail(err)
		}
		defer os.RemoveAll(home)
		c.subject = func(c testCase) (outcome, error) { return mistctl(*whole, home, c) }
		c.agree = quotesOutcome
	}
	if *list != "" {
		if c.exceptions, err = readExceptions(*list); err != nil {
			fail(err)
		}
	}
	verdicts := c.all(selected, *jobs)
	// Some of the charts are Helm's, which may not be there.
	faults := c.stale(verdicts, *sources != "" && *only == "")
	if !report(verdicts) || faults > 0 {
		return 1
	}
	return 0
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "helm conformance:", err)
	os.Exit(2)
}

// verdict is how one case went.
type verdict struct {
	testCase
	theirs, ours outcome
	class        string
	detail       string // what differs, or why it may
}

// The classes; every case that is not in one of the first three is explained in README.md, or a bug.
const (
	sameBytes  = "print the same bytes"
	sameWords  = "fail with the same words"
	sameShape  = "print the same but for what Helm itself draws anew each time"
	theyCrash  = "end Helm with a panic, and the engine with an error"
	nextFormat = "are of chart format v3, which neither renders"
	explained  = "differ, as explained in explained.txt"
	different  = "differ"
)

var classes = []string{sameBytes, sameWords, sameShape, theyCrash, nextFormat, explained, different}

// comparison is of Helm with a subject.
type comparison struct {
	helm    string
	subject func(testCase) (outcome, error)
	agree   func(theirs, ours string) bool // about a failure

	exceptions []exception
}

// Helm validates the members of an object in the order of a Go map, which changes from run to run.
func isOfSchema(failure string) bool {
	return strings.HasPrefix(failure, "values don't meet the specifications of the schema(s)")
}

func sameOutcome(theirs, ours string) bool {
	return theirs == ours || isOfSchema(theirs) && slices.Equal(sortedLines(theirs), sortedLines(ours))
}

func sortedLines(text string) []string { return slices.Sorted(strings.SplitSeq(text, "\n")) }

// Where mistctl ends what others said when it is long.
var cut = regexp.MustCompile(`(?s)^(.*)\n *… \((\d+) bytes more\)\n`)

// quotesOutcome: mistctl indents what the engine says, word for word, and adds to it. A long text it cuts, saying how much
// is missing.
func quotesOutcome(theirs, ours string) bool {
	words := oneLine(theirs)
	if match := cut.FindStringSubmatch(ours); match != nil {
		missing, _ := strconv.Atoi(match[2])
		if missing >= len(theirs) {
			return false
		}
		words = oneLine(theirs[:len(theirs)-missing])
		ours = match[1]
	}
	if strings.Contains(oneLine(ours), words) {
		return true
	}
	return isOfSchema(theirs) && namesTheSamePlaces(theirs, ours)
}

// A line of Helm about one value, by its JSON pointer, which may be empty: the chart's values themselves.
var ofValue = regexp.MustCompile(`^ *- at '([^']*)': (.*)$`)

// Of a chart's schema mistctl says in its own words what is wrong, in the words of other schemas that it checks: each value
// that Helm finds wrong it must find wrong too, and no more than Helm.
func namesTheSamePlaces(theirs, ours string) bool {
	_, ours, _ = strings.Cut(ours, "because: ")
	found := 0
	for line := range strings.Lines(ours) {
		if strings.HasPrefix(strings.TrimSpace(line), "while ") {
			break
		}
		found++
	}
	for line := range strings.Lines(theirs) {
		match := ofValue.FindStringSubmatch(strings.TrimRight(line, "\n"))
		if match == nil || match[2] == "validation failed" {
			continue
		}
		found--
		var path strings.Builder
		for _, step := range strings.FieldsFunc(match[1], func(r rune) bool { return r == '/' }) {
			if _, err := strconv.Atoi(step); err == nil {
				path.WriteString("[" + step + "]")
			} else {
				path.WriteString("." + step)
			}
		}
		if !strings.Contains(ours, strings.TrimPrefix(path.String(), ".")+": ") {
			return false
		}
	}
	return found == 0
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

func (c *comparison) all(cases []testCase, jobs int) []verdict {
	verdicts := make([]verdict, len(cases))
	queue := make(chan int)
	var workers sync.WaitGroup
	for range jobs {
		workers.Go(func() {
			for i := range queue {
				verdicts[i] = c.one(cases[i])
			}
		})
	}
	for i := range cases {
		queue <- i
	}
	close(queue)
	workers.Wait()
	return verdicts
}

func (c *comparison) one(of testCase) verdict {
	v := verdict{testCase: of, class: different}
	var err error
	if v.theirs, err = peer(c.helm, of); err != nil {
		v.detail = err.Error()
		return v
	}
	v.ours, err = c.subject(of)
	if err != nil {
		v.detail = err.Error()
		return v
	}
	v.class = c.classOf(&v, func(text string) string { return text })
	if e := c.exceptionFor(of); e != nil && v.class == different && c.classOf(&v, e.asOurs) != different {
		v.class, v.detail = explained, e.reason
	}
	return v
}

// classOf compares both sides, whatever Helm says as `read` reads it.
func (c *comparison) classOf(v *verdict, read func(string) string) string {
	theirs, ours := v.theirs, v.ours
	theirs.printed, theirs.failure = read(theirs.printed), read(theirs.failure)
	bothFail := theirs.failure != "" && ours.failure != ""
	switch {
	case theirs.crashed && ours.failure != "":
		return theyCrash
	case theirs == ours && theirs.failure == "":
		return sameBytes
	case bothFail && c.agree(theirs.failure, ours.failure):
		return sameWords
	case bothFail && strings.Contains(ours.failure, "invalid chart apiVersion"):
		return nextFormat
	case theirs.failure == "" && ours.failure == "":
		// Twice the same can be drawn by chance: the four keys of a map come in few orders.
		for range 8 {
			again, err := peer(c.helm, v.testCase)
			if err == nil && sameButDrawn(theirs.printed, read(again.printed), ours.printed) {
				return sameShape
			}
		}
	}
	return different
}

// sameButDrawn compares what is printed line by line. Where Helm differs from itself, the engine's line must only be as
// long and as far indented.
func sameButDrawn(theirs, again, ours string) bool {
	a, b, c := strings.Split(theirs, "\n"), strings.Split(again, "\n"), strings.Split(ours, "\n")
	if len(a) != len(b) || len(a) != len(c) {
		return false
	}
	for i := range a {
		drawn := a[i] != b[i] && len(a[i]) == len(c[i]) && indentation(a[i]) == indentation(c[i])
		if a[i] != c[i] && !drawn {
			return false
		}
	}
	return true
}

func indentation(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// report prints every difference and the totals, and says whether all is well.
func report(verdicts []verdict) bool {
	count := map[string]int{}
	charts := map[string]bool{}
	for i := range verdicts {
		v := &verdicts[i]
		charts[v.chart] = true
		count[v.class]++
		if v.class == explained {
			fmt.Printf("EXPLAINED %s\n  %s\n", v.words(), v.detail)
		}
		if v.class != different {
			continue
		}
		fmt.Printf("DIFFERENT %s %s\n", v.name, strings.Join(v.flags, " "))
		if v.detail != "" {
			fmt.Printf("  %s\n", v.detail)
		} else {
			fmt.Printf("  helm:   %s\n  engine: %s\n", describe(v.theirs, v.ours), describe(v.ours, v.theirs))
		}
	}
	fmt.Printf("%d charts, %d cases, of which\n", len(charts), len(verdicts))
	for _, class := range classes {
		if count[class] > 0 {
			fmt.Printf("%6d %s\n", count[class], class)
		}
	}
	return count[different] == 0
}

// describe shows an outcome from where it leaves the other.
func describe(one, other outcome) string {
	if one.failure != "" {
		return "Error: " + strings.ReplaceAll(one.failure, "\n", "\n            ")
	}
	if other.failure != "" {
		return fmt.Sprintf("renders %d bytes", len(one.printed))
	}
	ours, theirs := strings.Split(one.printed, "\n"), strings.Split(other.printed, "\n")
	for i, line := range ours {
		if i >= len(theirs) || line != theirs[i] {
			return fmt.Sprintf("line %d: %q", i+1, line)
		}
	}
	return fmt.Sprintf("%d lines, then it ends", len(ours))
}
