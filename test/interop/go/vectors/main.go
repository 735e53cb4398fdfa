// Prints the vectors that test/spec/tlog-vectors.test.ts reads, made by golang.org/x/mod/sumdb alone:
//
//	go run ./vectors > ../../fixtures/tlog-vectors.json
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log"
	"math/rand"
	"os"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	small = 300
	large = 1_000_000
	pairs = 200
)

// Of all leaves: entry i is i as eight bytes, big-endian.
type hashes []tlog.Hash

func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	read := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		read[i] = h[index]
	}
	return read, nil
}

// Size is the size of a tree. Inclusion and Consistency are the SHA-256 of the concatenated paths of all its leaves, in order,
// and of those from all sizes 1 to Size to it.
type Size struct {
	Size        int64  `json:"size"`
	Root        string `json:"root"`
	Inclusion   string `json:"inclusion"`
	Consistency string `json:"consistency"`
}

// Pair is a tree, one of its leaves and an earlier tree. Of the paths there is the SHA-256 of their concatenated hashes.
type Pair struct {
	Size        int64  `json:"size"`
	Root        string `json:"root"`
	Index       int64  `json:"index"`
	Inclusion   string `json:"inclusion"`
	From        int64  `json:"from"`
	FromRoot    string `json:"fromRoot"`
	Consistency string `json:"consistency"`
}

type Note struct {
	Signer   string `json:"signer"`
	Verifier string `json:"verifier"`
	Text     string `json:"text"`
	Note     string `json:"note"`
}

func main() {
	var stored hashes
	for i := int64(0); i < large; i++ {
		entry := binary.BigEndian.AppendUint64(nil, uint64(i))
		more := must(tlog.StoredHashes(i, entry, stored))
		stored = append(stored, more...)
	}
	var out struct {
		Sizes []Size `json:"sizes"`
		Pairs []Pair `json:"pairs"`
		Notes []Note `json:"notes"`
	}
	for size := int64(0); size <= small; size++ {
		inclusion, consistency := sha256.New(), sha256.New()
		for i := int64(0); i < size; i++ {
			for _, hash := range must(tlog.ProveRecord(size, i, stored)) {
				inclusion.Write(hash[:])
			}
			for _, hash := range must(tlog.ProveTree(size, i+1, stored)) {
				consistency.Write(hash[:])
			}
		}
		root := must(tlog.TreeHash(size, stored))
		out.Sizes = append(out.Sizes, Size{size, text(root[:]), text(inclusion.Sum(nil)), text(consistency.Sum(nil))})
	}
	random := rand.New(rand.NewSource(1))
	for range pairs {
		size := 1 + random.Int63n(large)
		index, from := random.Int63n(size), 1+random.Int63n(size)
		root, fromRoot := must(tlog.TreeHash(size, stored)), must(tlog.TreeHash(from, stored))
		out.Pairs = append(out.Pairs, Pair{
			size, text(root[:]),
			index, digest(must(tlog.ProveRecord(size, index, stored))),
			from, text(fromRoot[:]), digest(must(tlog.ProveTree(size, from, stored))),
		})
	}
	for i := range byte(20) {
		seed := bytes.Repeat([]byte{i}, 32)
		signer, verifier, err := note.GenerateKey(bytes.NewReader(seed), fmt.Sprintf("log-%d.example.com/a", i))
		check(err)
		body := fmt.Sprintf("log-%d.example.com/a\n%d\n%s\n", i, i, text(seed))
		signed := must(note.Sign(&note.Note{Text: body}, must(note.NewSigner(signer))))
		out.Notes = append(out.Notes, Note{signer, verifier, body, string(signed)})
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	check(encoder.Encode(out))
}

func text(bytes []byte) string { return base64.StdEncoding.EncodeToString(bytes) }

func digest(path []tlog.Hash) string {
	hash := sha256.New()
	for _, node := range path {
		hash.Write(node[:])
	}
	return text(hash.Sum(nil))
}

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
