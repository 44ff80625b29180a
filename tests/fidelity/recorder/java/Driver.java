import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/** Hosts real Kafka clients and obeys stdin, a line at a time: tab-separated verb, name and key=value words. */
public final class Driver {
    private static final Map<String, Client> CLIENTS = new ConcurrentHashMap<>();

    private Driver() {}

    public static void main(String[] args) throws Exception {
        String bootstrap = args[0];
        Cluster cluster = new Cluster(bootstrap);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split("\t");
            Map<String, String> given = new LinkedHashMap<>();
            for (int i = 2; i < words.length; i++) {
                int at = words[i].indexOf('=');
                given.put(words[i].substring(0, at), words[i].substring(at + 1));
            }
            obey(bootstrap, cluster, words[0], words[1], given);
        }
        System.exit(0);
    }

    private static void obey(String bootstrap, Cluster cluster, String verb, String name, Map<String, String> given) {
        switch (verb) {
            case "warm" -> Warming.warm(bootstrap, name, given);
            case "member" -> begin(new Member(bootstrap, name, given));
            case "producer" -> begin(new Sender(bootstrap, name, given));
            case "client" -> CLIENTS.get(name).order(given.remove("verb"), given);
            default -> {
                try {
                    cluster.order(verb, name, given);
                } catch (Exception error) {
                    Telling.error("admin_threw", name, error);
                }
            }
        }
    }

    private static void begin(Client client) {
        CLIENTS.put(client.name, client);
        client.begin();
    }
}
