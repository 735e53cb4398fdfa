// A witness of transparency-dev on a loopback address, for the tests of the service's client:
//
//	witness -listen 127.0.0.1:0 -key SIGNER -state FOLDER -log VKEY [-log VKEY]
//
// It prints its address and its verifier key, and keeps what it has cosigned in files, so that it can be ended and started.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"

	fnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/witness/witness"
	"golang.org/x/mod/sumdb/note"
)

type vkeys []string

func (v *vkeys) String() string     { return strings.Join(*v, ",") }
func (v *vkeys) Set(s string) error { *v = append(*v, s); return nil }

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address")
	key := flag.String("key", "", "signer: PRIVATE+KEY+...")
	state := flag.String("state", "", "folder of the cosigned checkpoints")
	var logs vkeys
	flag.Var(&logs, "log", "verifier key of a log; its name is the origin")
	flag.Parse()

	signer, err := fnote.NewSignerForCosignatureV1(*key)
	check(err)
	verifiers := map[string]note.Verifier{}
	for _, vkey := range logs {
		verifier, err := note.NewVerifier(vkey)
		check(err)
		verifiers[verifier.Name()] = verifier
	}
	w, err := witness.New(context.Background(), witness.Opts{
		Persistence: &files{folder: *state},
		Signers:     []note.Signer{signer},
		VerifierForLog: func(_ context.Context, origin string) (note.Verifier, bool, error) {
			verifier, ok := verifiers[origin]
			return verifier, ok, nil
		},
	})
	check(err)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /add-checkpoint", witness.NewHTTPHandler(w).AddCheckpoint)
	listener, err := net.Listen("tcp", *listen)
	check(err)
	fmt.Printf("http://%s %s\n", listener.Addr(), signer.Verifier().Name())
	log.Fatal(http.Serve(listener, mux))
}

// The newest cosigned checkpoint of every log, in a file each.
type files struct {
	folder string
	mu     sync.Mutex
}

func (f *files) path(origin string) string { return filepath.Join(f.folder, url.PathEscape(origin)) }

func (f *files) Init(context.Context) error { return os.MkdirAll(f.folder, 0o700) }

func (f *files) Latest(_ context.Context, origin string) ([]byte, error) {
	cosigned, err := os.ReadFile(f.path(origin))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return cosigned, err
}

func (f *files) Update(ctx context.Context, origin string, next func([]byte) ([]byte, error)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	cosigned, err := f.Latest(ctx, origin)
	if err != nil {
		return err
	}
	if cosigned, err = next(cosigned); err != nil {
		return err
	}
	part := f.path(origin) + ".part"
	if err := os.WriteFile(part, cosigned, 0o600); err != nil {
		return err
	}
	return os.Rename(part, f.path(origin))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
