// Publishes an event with the client that openapi-generator made, and reads it back.
package main

import (
	"context"
	"encoding/json"
	"os"

	api "example.com/control-service/client"
)

func main() {
	endpoint, org, key := os.Args[1], os.Args[2], os.Args[3]
	configuration := api.NewConfiguration()
	configuration.Servers = api.ServerConfigurations{{URL: endpoint}}
	client := api.NewAPIClient(configuration)
	ctx := context.WithValue(context.Background(), api.ContextAccessToken, key)

	resource := api.NewAuditResourceDto()
	resource.SetId("of-a-client")
	resource.SetData(map[string]interface{}{"total": 12})
	published, _, err := client.AuditPublishAPI.PublishEvent(ctx, org, "orders").AuditEventDto(*api.NewAuditEventDto(*resource)).Execute()
	check(err)
	one, _, err := client.AuditReadAPI.GetEvent(ctx, org, published.Id).Execute()
	check(err)
	list, _, err := client.AuditReadAPI.ListEvents(ctx, org).ContextName("orders").PageSize(10).Execute()
	check(err)
	listed := []string{}
	for _, event := range list.Items {
		listed = append(listed, event.Id)
	}
	check(json.NewEncoder(os.Stdout).Encode(map[string]interface{}{
		"id": published.Id, "read": one.Item.Resource.GetId(), "listed": listed,
	}))
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
