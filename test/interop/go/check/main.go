// Checks notes and proofs that this repository made, with golang.org/x/mod/sumdb alone. Reads JSON on standard input, prints how
// many it took.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

type Given struct {
	Notes []struct{ Vkey, Text, Note string }
	Paths []struct {
		Size        int64
		Root        tlog.Hash
		Index       int64
		Leaf        tlog.Hash
		Inclusion   tlog.RecordProof
		From        int64
		FromRoot    tlog.Hash
		Consistency tlog.TreeProof
	}
}

func main() {
	var given Given
	check("input", json.NewDecoder(os.Stdin).Decode(&given))
	for _, made := range given.Notes {
		verifier, err := note.NewVerifier(made.Vkey)
		check(made.Vkey, err)
		opened, err := note.Open([]byte(made.Note), note.VerifierList(verifier))
		check(made.Note, err)
		if opened.Text != made.Text {
			log.Fatalf("%q was signed as %q", made.Text, opened.Text)
		}
	}
	for _, path := range given.Paths {
		what := fmt.Sprintf("size %d, index %d, from %d", path.Size, path.Index, path.From)
		check(what, tlog.CheckRecord(path.Inclusion, path.Size, path.Root, path.Index, path.Leaf))
		check(what, tlog.CheckTree(path.Consistency, path.Size, path.Root, path.From, path.FromRoot))
	}
	fmt.Println(len(given.Notes), "notes,", len(given.Paths), "paths")
}

func check(what string, err error) {
	if err != nil {
		log.Fatalf("%s: %v", what, err)
	}
}
