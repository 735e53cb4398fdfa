// Sends made-up audit events the way a Kubernetes API server does: through the webhook backend of k8s.io/apiserver, buffered
// as kube-apiserver buffers unless told otherwise, but for shorter waits. Usage: webhook KUBECONFIG REQUESTS
//
// Every request makes an event of stage RequestReceived and one of stage ResponseComplete under the same auditID.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/plugin/pkg/audit/buffered"
	"k8s.io/apiserver/plugin/pkg/audit/webhook"

	authnv1 "k8s.io/api/authentication/v1"
)

func main() {
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(kubeConfig, count string) error {
	requests, err := strconv.Atoi(count)
	if err != nil {
		return err
	}
	retry := wait.Backoff{Duration: 20 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 10}
	backend, err := webhook.NewBackend(kubeConfig, auditv1.SchemeGroupVersion, retry, nil)
	if err != nil {
		return err
	}
	config := buffered.BatchConfig{BufferSize: 4 * requests, MaxBatchSize: 10, MaxBatchWait: 20 * time.Millisecond, AsyncDelegate: true}
	batches := buffered.NewBackend(backend, config)
	stop := make(chan struct{})
	if err := batches.Run(stop); err != nil {
		return err
	}
	for number := range requests {
		for _, stage := range []auditinternal.Stage{auditinternal.StageRequestReceived, auditinternal.StageResponseComplete} {
			batches.ProcessEvents(event(number, stage))
		}
	}
	close(stop)
	batches.Shutdown()
	return nil
}

func event(number int, stage auditinternal.Stage) *auditinternal.Event {
	now := metav1.NowMicro()
	one := &auditinternal.Event{
		Level:                    auditinternal.LevelMetadata,
		AuditID:                  types.UID(fmt.Sprintf("00000000-0000-4000-8000-%012d", number)),
		Stage:                    stage,
		RequestURI:               fmt.Sprintf("/api/v1/namespaces/shop/secrets/secret-%d", number),
		Verb:                     "get",
		User:                     authnv1.UserInfo{Username: "ann@example.com", Groups: []string{"system:authenticated"}},
		SourceIPs:                []string{"192.0.2.1"},
		UserAgent:                "kubectl",
		ObjectRef:                &auditinternal.ObjectReference{Resource: "secrets", Namespace: "shop", Name: fmt.Sprintf("secret-%d", number), APIVersion: "v1"},
		RequestReceivedTimestamp: now,
		StageTimestamp:           now,
	}
	if stage == auditinternal.StageResponseComplete {
		one.ResponseStatus = &metav1.Status{Code: 200}
	}
	return one
}
