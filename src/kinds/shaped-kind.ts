import type { Fault } from '../model/refusal.js';
import type { ResourceDocument, ResourceKind, ResourceState } from '../model/resource-kind.js';
import { compileShape } from '../shapes/compiled.js';
import type { DescribedDto } from '../shapes/resource.js';

type Shape = new () => object;

/** A kind of resource with the shapes of its documents, from which its schemas follow. */
export interface ShapedKind<
  State extends ResourceState = ResourceState,
  Document extends ResourceDocument = ResourceDocument,
> extends ResourceKind<State, Document> {
  /** A whole document: the body of a replacement, and of a patch once it is merged. */
  readonly shape: Shape;
  /** Members of documents that a resource may lack. */
  readonly optional?: readonly string[];
  /** JSON Schema of members that a patch may have in another form. */
  readonly patched?: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** The body that creates a resource. */
  readonly creation?: Shape;
}

/** Checks documents by their shapes, and those that have the shape by `more`. */
export function shaped(
  shape: Shape,
  creation?: Shape,
  more: (document: object) => Fault[] = () => [],
): Pick<ShapedKind, 'shape' | 'newCheck' | 'creation' | 'newCreationCheck'> {
  const checkOf = (one: Shape) => {
    const faultsOf = compileShape(one);
    return (document: unknown) => {
      const faults = faultsOf(document);
      return faults.length > 0 ? faults : more(document as object);
    };
  };
  const check = checkOf(shape);
  if (!creation) return { shape, newCheck: () => check };
  const creationCheck = checkOf(creation);
  return { shape, newCheck: () => check, creation, newCreationCheck: () => creationCheck };
}

/** Of a kind that is described, and no more. The description defaults to the name. */
export function completeDescribed({ description, tags = {} }: DescribedDto, name: string): ResourceDocument {
  return { description: description ?? name, tags };
}
