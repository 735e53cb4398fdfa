import java.util.Map;
import java.util.stream.Collectors;
import org.openapitools.client.ApiClient;
import org.openapitools.client.api.AuditPublishApi;
import org.openapitools.client.api.AuditReadApi;
import org.openapitools.client.model.AuditEventDto;
import org.openapitools.client.model.AuditResourceDto;

/** Publishes an event with the client that openapi-generator made, and reads it back. */
public class Main {
  public static void main(String[] args) throws Exception {
    String org = args[1];
    ApiClient client = new ApiClient();
    client.updateBaseUri(args[0]);
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + args[2]));

    var resource = new AuditResourceDto().id("of-a-client").data(Map.of("total", 12));
    var event = new AuditEventDto().resource(resource);
    var id = new AuditPublishApi(client).publishEvent(org, "orders", event, null, null).getId();
    var reads = new AuditReadApi(client);
    var one = reads.getEvent(org, id.toString()).getItem();
    var list = reads.listEvents(org, null, null, 10, null, null, null, "orders",
        null, null, null, null, null, null, null, null, null, null, null, null);
    var listed = list.getItems().stream().map(each -> "\"" + each.getId() + "\"").collect(Collectors.joining(","));
    System.out.printf("{\"id\":\"%s\",\"read\":\"%s\",\"listed\":[%s]}%n", id, one.getResource().getId(), listed);
  }
}
