// Verifies an export with its proof file, knowing nothing of this service but docs/proofs.md; notes and trees are those of
// golang.org/x/mod/sumdb.
//
//	verify -vkey KEY [-service-vkey KEY] [-number N] [-pinned FILE] EVENTS PROOF
package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const slack = 60_000

// Checkpoint is the head of an organization's tree. Complete and At are milliseconds.
type Checkpoint struct {
	Text         string
	Origin       string
	Size         int64
	Root         tlog.Hash
	Complete, At int64
}

// Line is any line of a proof file.
type Line struct {
	Kind   string   `json:"kind"`
	Leaf   int64    `json:"leaf"`
	Salt   string   `json:"salt"`
	From   int64    `json:"from"`
	Count  int64    `json:"count"`
	Hashes []string `json:"hashes"`
	Note   string   `json:"note"`
	Number int64    `json:"number"`
	Head   string   `json:"head"`
}

// Tree has the hashes of complete subtrees, by level and index.
type Tree map[[2]int64]tlog.Hash

func (t Tree) node(level int, index int64) (tlog.Hash, error) {
	if hash, ok := t[[2]int64{int64(level), index}]; ok {
		return hash, nil
	}
	if level == 0 {
		return tlog.Hash{}, fmt.Errorf("leaf %d is missing", index)
	}
	left, err := t.node(level-1, 2*index)
	if err != nil {
		return left, err
	}
	right, err := t.node(level-1, 2*index+1)
	return tlog.NodeHash(left, right), err
}

// ReadHashes is what tlog.TreeHash reads.
func (t Tree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		level, n := tlog.SplitStoredHashIndex(index)
		hash, err := t.node(level, n)
		if err != nil {
			return nil, err
		}
		hashes[i] = hash
	}
	return hashes, nil
}

func (t Tree) add(level int, index int64, hash tlog.Hash) error {
	key := [2]int64{int64(level), index}
	if _, there := t[key]; there {
		return fmt.Errorf("leaf %d is there twice", index<<level)
	}
	t[key] = hash
	return nil
}

func main() {
	vkey := flag.String("vkey", "", "of the organization's log")
	serviceVkey := flag.String("service-vkey", "", "of the service log")
	number := flag.Int64("number", -1, "of the organization")
	pinned := flag.String("pinned", "", "file of an earlier checkpoint")
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	size, err := verify(flag.Arg(0), flag.Arg(1), *vkey, *serviceVkey, *pinned, *number)
	if err != nil {
		fmt.Println("FAILED:", err)
		os.Exit(1)
	}
	fmt.Println("verified", size, "leaves")
}

func verify(events, proof, vkey, serviceVkey, pinnedFile string, number int64) (int64, error) {
	var pinned *Checkpoint
	if pinnedFile != "" {
		bytes, err := os.ReadFile(pinnedFile)
		if err != nil {
			return 0, err
		}
		if pinned, err = open(string(bytes), vkey); err != nil {
			return 0, fmt.Errorf("pinned checkpoint: %w", err)
		}
	}
	tree := Tree{}
	latest, end, total, err := readFiles(events, proof, tree, pinned)
	if err != nil {
		return 0, err
	}
	checkpoint, err := open(end.Note, vkey)
	if err != nil {
		return 0, fmt.Errorf("checkpoint: %w", err)
	}
	// Every leaf once: the root needs all of them, and their number leaves none over.
	if total != checkpoint.Size {
		return 0, fmt.Errorf("%d leaves, but the checkpoint has %d", total, checkpoint.Size)
	}
	if err := equal(tree, checkpoint); err != nil {
		return 0, err
	}
	if latest > checkpoint.At+slack {
		return 0, errors.New("an event is newer than its checkpoint")
	}
	if pinned != nil {
		if pinned.Origin != checkpoint.Origin || pinned.Size > checkpoint.Size {
			return 0, errors.New("the checkpoint does not follow the pinned one")
		}
		if err := equal(tree, pinned); err != nil {
			return 0, fmt.Errorf("pinned: %w", err)
		}
	}
	if serviceVkey != "" {
		if err := verifyHead(end.Head, checkpoint, serviceVkey, number); err != nil {
			return 0, fmt.Errorf("head proof: %w", err)
		}
	}
	return checkpoint.Size, nil
}

func equal(tree Tree, checkpoint *Checkpoint) error {
	root, err := tlog.TreeHash(checkpoint.Size, tree)
	if err != nil {
		return err
	}
	if root != checkpoint.Root {
		return fmt.Errorf("the first %d leaves have another root", checkpoint.Size)
	}
	return nil
}

// Reads both files side by side: line k of the proof belongs to event k.
func readFiles(events, proof string, tree Tree, pinned *Checkpoint) (latest int64, end Line, total int64, err error) {
	eventLines, err := os.Open(events)
	if err != nil {
		return
	}
	defer eventLines.Close()
	proofLines, err := os.Open(proof)
	if err != nil {
		return
	}
	defer proofLines.Close()
	texts, proofs := bufio.NewReaderSize(eventLines, 1<<20), bufio.NewReaderSize(proofLines, 1<<20)
	count, isOver := int64(0), false
	for {
		var raw []byte
		if raw, err = proofs.ReadBytes('\n'); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the proof file ends too early")
			}
			return
		}
		var line Line
		if err = json.Unmarshal(raw, &line); err != nil {
			return
		}
		switch line.Kind {
		case "":
			var text []byte
			if text, err = texts.ReadBytes('\n'); err != nil && !(errors.Is(err, io.EOF) && len(text) > 0) || isOver {
				err = fmt.Errorf("leaf %d has no line", line.Leaf)
				return
			}
			count++
			var at int64
			if at, err = addLeaf(tree, line, strings.TrimSuffix(string(text), "\n"), pinned); err != nil {
				err = fmt.Errorf("line %d: %w", count, err)
				return
			}
			latest = max(latest, at)
			total++
		case "closed":
			isOver = true
			if err = addClosed(tree, line); err != nil {
				return
			}
			total += line.Count
		case "checkpoint":
			isOver, end = true, line
		case "exportend":
			rest, _ := io.ReadAll(proofs)
			more, _ := io.ReadAll(texts)
			if line.Count != count || len(rest) > 0 || len(more) > 0 && !strings.HasPrefix(string(more), `{"kind":"exportend"`) {
				err = fmt.Errorf("the files do not end with %d events", line.Count)
			}
			return
		default:
			err = fmt.Errorf("unknown line %s", line.Kind)
			return
		}
	}
}

func addLeaf(tree Tree, line Line, text string, pinned *Checkpoint) (int64, error) {
	salt, err := base64.RawURLEncoding.DecodeString(line.Salt)
	if err != nil || len(salt) != 16 {
		return 0, errors.New("the salt does not have 16 bytes")
	}
	const tail = len(`,"receivedTime":"2026-01-01T00:00:00.000Z"}`)
	if len(text) < tail || !strings.HasPrefix(text[len(text)-tail:], `,"receivedTime":"`) || !strings.HasSuffix(text, `"}`) {
		return 0, errors.New("no receivedTime at the end")
	}
	received, err := time.Parse("2006-01-02T15:04:05.000Z", text[len(text)-26:len(text)-2])
	if err != nil {
		return 0, err
	}
	at := received.UnixMilli()
	if pinned != nil && line.Leaf >= pinned.Size && at < pinned.Complete-slack {
		return 0, errors.New("the event is older than the pinned checkpoint, which lacks it")
	}
	commitment := sha256.Sum256(append(salt, text...))
	entry := binary.BigEndian.AppendUint64([]byte{1}, uint64(at))
	return at, tree.add(0, line.Leaf, tlog.RecordHash(append(entry, commitment[:]...)))
}

// The fewest complete subtrees that hold the leaves.
func addClosed(tree Tree, line Line) error {
	at, end, used := line.From, line.From+line.Count, 0
	for at < end {
		level := 0
		for at%(2<<level) == 0 && at+2<<level <= end {
			level++
		}
		if used == len(line.Hashes) {
			return errors.New("too few hashes of closed leaves")
		}
		hash, err := tlog.ParseHash(line.Hashes[used])
		if err != nil {
			return err
		}
		if err := tree.add(level, at>>level, hash); err != nil {
			return err
		}
		used++
		at += 1 << level
	}
	if used != len(line.Hashes) {
		return errors.New("too many hashes of closed leaves")
	}
	return nil
}

// The signature is verified by x/mod/sumdb/note.
func open(signed, vkey string) (*Checkpoint, error) {
	verifier, err := note.NewVerifier(vkey)
	if err != nil {
		return nil, err
	}
	opened, err := note.Open([]byte(signed), note.VerifierList(verifier))
	if err != nil {
		return nil, err
	}
	lines := strings.Split(opened.Text, "\n")
	if len(lines) < 4 || lines[0] != verifier.Name() {
		return nil, errors.New("it is not a checkpoint of its signer")
	}
	checkpoint := &Checkpoint{Text: opened.Text, Origin: lines[0]}
	if checkpoint.Size, err = strconv.ParseInt(lines[1], 10, 64); err != nil {
		return nil, err
	}
	if checkpoint.Root, err = tlog.ParseHash(lines[2]); err != nil {
		return nil, err
	}
	var n int64
	if len(lines) > 4 {
		if _, err := fmt.Sscanf(lines[3], "control-cut %d %d %d", &n, &checkpoint.Complete, &checkpoint.At); err != nil {
			return nil, err
		}
	}
	return checkpoint, nil
}

// Org checkpoint, directory, entry of the cut, checkpoint of the service log.
func verifyHead(proof string, org *Checkpoint, vkey string, number int64) error {
	header, signed, found := strings.Cut(proof, "\n\n")
	lines := strings.Split(header, "\n")
	if !found || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" {
		return errors.New("it is not a tlog-proof")
	}
	service, err := open(signed, vkey)
	if err != nil {
		return err
	}
	bytes, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(lines[1], "extra "))
	if err != nil {
		return err
	}
	var extra struct {
		Entry, Checkpoint string
		Number            int64
		Directory         []string
	}
	if err := json.Unmarshal(bytes, &extra); err != nil {
		return err
	}
	index, err := strconv.ParseInt(strings.TrimPrefix(lines[2], "index "), 10, 64)
	if err != nil {
		return err
	}
	if err := included(lines[3:], service.Size, service.Root, index, extra.Entry); err != nil {
		return err
	}
	entry := strings.Split(extra.Entry, "\n")
	if len(entry) != 9 || entry[0] != "control-cut/v1" || entry[1] != strconv.FormatInt(index+1, 10) {
		return errors.New("the entry is not that of its cut")
	}
	orgs, err := strconv.ParseInt(entry[3], 10, 64)
	if err != nil {
		return err
	}
	directory, err := tlog.ParseHash(entry[4])
	if err != nil {
		return err
	}
	if extra.Checkpoint != org.Text || number >= 0 && extra.Number != number {
		return errors.New("it is of another checkpoint, or has another number")
	}
	return included(extra.Directory, orgs, directory, extra.Number, extra.Checkpoint)
}

func included(path []string, size int64, root tlog.Hash, index int64, entry string) error {
	proof := tlog.RecordProof{}
	for _, text := range path {
		hash, err := tlog.ParseHash(text)
		if err != nil {
			return err
		}
		proof = append(proof, hash)
	}
	return tlog.CheckRecord(proof, size, root, index, tlog.RecordHash([]byte(entry)))
}
