/* Writes what RE2/J says of each expression, as re2j-1.8.tsv has it: java -cp re2j-1.8.jar Re2jAnswers.java FILE
   FILE: names in its first line, an expression in each other one. Some expressions take RE2/J for ever. */
import com.google.re2j.Pattern;
import com.google.re2j.PatternSyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

public class Re2jAnswers {
  public static void main(String[] arguments) throws Exception {
    List<String> lines = Files.readAllLines(Path.of(arguments[0]));
    System.out.println(lines.get(0));
    for (String expression : lines.subList(1, lines.size())) {
      StringBuilder answer = new StringBuilder();
      try {
        Pattern pattern = Pattern.compile(expression);
        for (String name : lines.get(0).split(" ")) answer.append(pattern.matcher(name).matches() ? '1' : '0');
      } catch (PatternSyntaxException refused) {
        answer.append(refused.getDescription());
      }
      System.out.println(answer + "\t" + expression);
    }
  }
}
