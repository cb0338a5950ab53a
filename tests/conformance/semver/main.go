// Command semver writes the corpus that src/resolve's ranges are compared with: what Masterminds/semver, the
// library by which Helm chooses charts, says of some thousand ranges. See README.md.
//
//	go run . > corpus.jsonl
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/Masterminds/semver/v3"
)

// versions are asked of each range.
var versions = []string{
	"0.0.0-0", "0.0.0", "0.0.1-a", "0.0.1", "0.0.3", "0.0.4", "0.1.0-rc.1", "0.1.0", "0.2.0", "0.2.3", "0.2.9", "0.3.0",
	"1.0.0-0", "1.0.0-a", "1.0.0", "1.0.1", "1.1.9", "1.2.0-rc.1", "1.2.0", "1.2.2", "1.2.3-a", "1.2.3-a.0", "1.2.3-rc.1",
	"1.2.3-rc.2", "1.2.3", "1.2.3+build", "1.2.4-rc.1", "1.2.4", "1.2.9-rc.1", "1.2.9", "1.3.0-0", "1.3.0", "1.9.0", "1.10.0",
	"2.0.0-0", "2.0.0-rc.1", "2.0.0", "2.3.4", "2.4.0-a", "2.4.0", "3.0.0-rc.1", "3.0.0", "18446744073709551615.0.0",
}

var operators = []string{"", "=", "!=", ">", ">=", "=>", "<", "<=", "=<", "~", "~>", "^"}

var operands = []string{
	"0", "0.0", "0.0.0", "0.0.3", "0.1", "0.2.3", "1", "1.0", "1.2", "1.2.3", "1.2.3-rc.1", "1.2.3-0", "1.2.0", "2", "2.0.0",
	"2.0.0-0", "1.x", "1.X.X", "1.2.*", "1.2.x", "*", "x", "X.x.x", "v1.2.3", "v1.2", "1-0", "1.2-0", "0-0", "*-0",
	"1.2.3+build", "1.2.3-rc.1+build", "1.x.3", "01.2.3", "1.2.3.4", "a", "", "1.2.3-", "1..2", "1.2.3-01",
	"18446744073709551615", "18446744073709551616.0.0",
}

// record is one line of the corpus.
type record struct {
	Range string `json:"range"`
	Error bool   `json:"error,omitempty"`
	// In has a 1 for each of the versions that satisfies the range.
	In string `json:"in,omitempty"`
}

func ranges() []string {
	all := []string{"", " ", "||", "^1 ||", "|| ^1", ",", "^1,", "^1, ", "latest", ">= 1.2.3, < 2.0.0", ">=1.2.3,<2.0.0", ">=1 <2 !=1.2.3"}
	for _, operator := range operators {
		for _, operand := range operands {
			all = append(all, operator+operand)
			if operand == "1.2.3" {
				all = append(all, operator+" "+operand, " "+operator+"  "+operand+" ")
			}
		}
	}
	pairs := []string{"1", "1.2", "1.2.3", "1.2.3-rc.1", "2.0.0-0", "1.x", "0.0.3", "*"}
	for _, low := range pairs {
		for _, high := range pairs {
			all = append(all, low+" - "+high, low+" -"+high, ">="+low+" <"+high, ">"+low+", <="+high, "^"+low+" || ~"+high,
				"!="+low+" ^"+high, "<"+low+" || >="+high, low+" || "+high, ">="+low+" "+high)
		}
	}
	return all
}

func main() {
	out := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	write := func(value any) {
		if err := encoder.Encode(value); err != nil {
			fail(err)
		}
	}
	write(map[string][]string{"versions": versions})
	for _, text := range ranges() {
		write(answer(text))
	}
	if err := out.Flush(); err != nil {
		fail(err)
	}
}

func answer(text string) record {
	constraint, err := semver.NewConstraint(text)
	if err != nil {
		return record{Range: text, Error: true}
	}
	in := make([]byte, 0, len(versions))
	for _, each := range versions {
		version, err := semver.StrictNewVersion(each)
		if err != nil {
			fail(err)
		}
		if constraint.Check(version) {
			in = append(in, '1')
		} else {
			in = append(in, '0')
		}
	}
	return record{Range: text, In: string(in)}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
