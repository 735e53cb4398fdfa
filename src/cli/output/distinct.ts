/** Makes a name distinct from all that it has given out, by a number where need be. */
export type Distinct = (name: string, joint: string) => string;

export function distinctNames(): Distinct {
  const given = new Set<string>();
  return (name, joint) => {
    let distinct = name;
    for (let number = 2; given.has(distinct); number++) distinct = `${name}${joint}${number}`;
    given.add(distinct);
    return distinct;
  };
}
